// The settings in force: how every process reads them (contract 6.2, 6.5), and which of them this program acts on.
import type { Caps } from '../accesskey/lifetime.ts'
import type { AuditSettings } from '../../api/config.gen.ts'
import {
  canonicalJson,
  isList,
  isMap,
  type Json,
  type JsonMap,
  jsonToSettings,
  ownValue,
  parseJson,
} from '../json/json.ts'
import { namespacePrefix } from './formats.ts'
import { auditFaults } from './validation/audit.ts'
import { DEFAULT_LOGIN_TTL_SECONDS, DEFAULT_NAMESPACE_PREFIX } from './layers.ts'

/** The settings that this program acts on. docs/config.md has the same list, which a test compares. */
export const IMPLEMENTED_SETTINGS = [
  'accessKeyMaxTTLSeconds',
  'audit',
  'authenticateVersionEndpoint',
  'disableConfigEndpoint',
  'loginAccessKeyTTLSeconds',
  'platformHost',
  'projectNamespacePrefix',
  'secretStore',
] as const

const settingIn = (group: JsonMap, name: (typeof IMPLEMENTED_SETTINGS)[number]): Json | undefined =>
  ownValue(group, name)

/** The settings in force, secrets redacted, or why they are unknown. */
export type SettingsInForce =
  | { readonly known: true; readonly settings: JsonMap; readonly from: 'record' | 'status' }
  | { readonly known: false; readonly because: string }

/** The Config in force, as far as `settingsInForce` reads it. */
interface ObservedConfig {
  readonly uid: string
  readonly status: unknown
}

/**
 * The settings in force, from the ConfigMap that records them (contract 6.5). The operator writes the record before
 * status, so a value that another client writes into status counts only once the operator recorded it. If the record
 * is unreadable, missing, or of an earlier Config, the status of a settled Config counts instead.
 *
 * Pass null for a Config or ConfigMap that does not exist. After a failed read, do not call it but keep the previous
 * settings. The result is unknown before any settings were in force.
 */
export function settingsInForce(
  config: ObservedConfig | null,
  record: ConfigMapData | null,
): SettingsInForce {
  const recorded = parseRecord(record)
  const settled = isSettledStatus(config?.status) ? config.status : null
  if (typeof recorded !== 'object') {
    if (settled) return { known: true, settings: settled, from: 'status' }
    const because =
      recorded === 'none' ? 'no settings were in force yet' : 'the record is unreadable'
    return { known: false, because }
  }
  const isOfEarlierConfig = recorded.origin !== null && recorded.origin.uid !== config?.uid
  return settled && isOfEarlierConfig
    ? { known: true, settings: settled, from: 'status' }
    : { known: true, settings: recorded.settings, from: 'record' }
}

/**
 * Whether the operator has published settings in this status: it has an observedGeneration and a Ready condition,
 * True or False, whose reason is not `NotInForce`.
 */
export function isSettledStatus(status: unknown): status is JsonMap {
  if (!isMap(status) || typeof status['observedGeneration'] !== 'number') return false
  const conditions = status['conditions']
  if (!isList(conditions)) return false
  const ready = conditions.find((one) => isMap(one) && one['type'] === 'Ready')
  return isMap(ready) && ready['reason'] !== 'NotInForce'
}

// ConfigMap `platform-config-in-force`: the settings in force without secrets (contract 6.5). It outlives the Config,
// so the deletion of the Config lifts no cap. Data key `config` has the settings; data key `origin` has their sources,
// for the operator.

/** The data of a ConfigMap. */
export type ConfigMapData = Readonly<Record<string, string>>

/** Which Config the recorded settings were computed for, and from which sources. */
export interface RecordOrigin {
  /** metadata.uid of the Config. */
  readonly uid: string
  /**
   * The settings of the Secret at that time, redacted, to detect whether the Secret changed since. null: unknown,
   * because an earlier record was lost.
   */
  readonly secret: JsonMap | null
  /** Settings of an earlier Config that stay in force until spec is set or the Secret changes. */
  readonly carried: JsonMap
}

/** The parsed ConfigMap. `origin` is null when its data key is missing or malformed. */
interface SettingsRecord {
  readonly settings: JsonMap
  readonly origin: RecordOrigin | null
}

/**
 * Parses the ConfigMap's data. `none`: the ConfigMap does not exist (null). `unreadable`: its data key `config` has no
 * JSON object.
 */
export function parseRecord(data: ConfigMapData | null): SettingsRecord | 'none' | 'unreadable' {
  if (data === null) return 'none'
  const settings = parseJson(data['config'])
  if (!isMap(settings)) return 'unreadable'
  return { settings, origin: originOf(parseJson(data['origin'])) }
}

/** The ConfigMap's data for redacted settings; equal settings give equal text. */
export const recordData = (redacted: JsonMap, origin: RecordOrigin): ConfigMapData => ({
  config: canonicalJson(redacted),
  origin: canonicalJson({ ...origin }),
})

function originOf(value: Json | undefined): RecordOrigin | null {
  if (!isMap(value)) return null
  const { uid, secret = null, carried } = value
  const isWellFormed =
    typeof uid === 'string' && isMap(carried) && (isMap(secret) || secret === null)
  return isWellFormed ? { uid, secret, carried } : null
}

// The settings that this program acts on (contract 2.2, 6.2, 9.1).

/** The caps in force, or why they are unknown; the caller then keeps the previous caps. */
type CapsInForce =
  | { readonly known: true; readonly caps: Caps; readonly from: 'record' | 'status' }
  | { readonly known: false; readonly because: string }

/**
 * The caps on the lifetime of keys and tokens (contract 2.1, 2.2). Fails closed: a malformed value does not count as
 * no cap, and before any settings were in force the result is unknown.
 */
export function capsInForce(inForce: SettingsInForce): CapsInForce {
  if (!inForce.known) return inForce
  const { settings, from } = inForce
  const caps = capsOfSettings(settings)
  if (caps) return { known: true, caps, from }
  return {
    known: false,
    because: `the caps in the ${from} are malformed: the previous caps stay in force`,
  }
}

/** The caps in these settings; null when a value is malformed. 0 means no cap, or no lifetime of Login keys. */
export function capsOfSettings(settings: JsonMap): Caps | null {
  const auth = settings['auth'] ?? {}
  if (!isMap(auth)) return null
  const max = secondsIn(settingIn(auth, 'accessKeyMaxTTLSeconds'), 0)
  const login = secondsIn(settingIn(auth, 'loginAccessKeyTTLSeconds'), DEFAULT_LOGIN_TTL_SECONDS)
  if (max === null || login === null) return null
  return { maxTtlSeconds: max || null, loginTtlSeconds: login || null }
}

function secondsIn(value: Json | undefined, fallback: number): number | null {
  if (value === undefined) return fallback
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null
}

/** The settings that the gateway acts on besides the caps (contract 6.7). */
export interface GatewaySwitches {
  /** Prefix of the namespaces of projects in the management cluster. Never empty. */
  readonly projectNamespacePrefix: string
  /** Whether `/version` needs a credential. */
  readonly authenticateVersionEndpoint: boolean
  /** Whether the gateway refuses every write of a Config. */
  readonly disableConfigEndpoint: boolean
}

/** The switches in force; null when they are unknown or malformed, so that the caller keeps the previous ones. */
export function gatewaySwitchesInForce(inForce: SettingsInForce): GatewaySwitches | null {
  if (!inForce.known) return null
  const { settings } = inForce
  const prefix = settingIn(settings, 'projectNamespacePrefix') ?? DEFAULT_NAMESPACE_PREFIX
  const authenticateVersionEndpoint = flagIn(settingIn(settings, 'authenticateVersionEndpoint'))
  const disableConfigEndpoint = flagIn(settingIn(settings, 'disableConfigEndpoint'))
  const isReadable =
    typeof prefix === 'string' &&
    namespacePrefix(prefix) === null &&
    authenticateVersionEndpoint !== null &&
    disableConfigEndpoint !== null
  return isReadable
    ? { projectNamespacePrefix: prefix, authenticateVersionEndpoint, disableConfigEndpoint }
    : null
}

function flagIn(value: Json | undefined): boolean | null {
  if (value === undefined) return false
  return typeof value === 'boolean' ? value : null
}

/**
 * The settings of audit in force; null when they are unknown or have a fault, so that the caller keeps the previous ones.
 */
export function auditSettingsInForce(inForce: SettingsInForce): AuditSettings | null {
  if (!inForce.known) return null
  const { audit = {} } = jsonToSettings(inForce.settings)
  return isMap(audit) && auditFaults(audit).length === 0 ? audit : null
}

/** The setting platformHost in force; null = unknown or not set. */
export function platformHostInForce(inForce: SettingsInForce): string | null {
  if (!inForce.known) return null
  const platformHost = settingIn(inForce.settings, 'platformHost')
  return typeof platformHost === 'string' && platformHost !== '' ? platformHost : null
}
