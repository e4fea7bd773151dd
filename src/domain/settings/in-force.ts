// The settings in force as any process sees them that follows the API server (contract 6.2, 6.5).
import type { Caps } from '../accesskey/lifetime.ts'
import { type Json, type JsonMap, isList, isMap, canonicalJson } from '../json/json.ts'
import { DEFAULT_LOGIN_TTL_SECONDS, DEFAULT_NAMESPACE_PREFIX } from './defaults.ts'
import { namespacePrefix } from './validation/formats.ts'

/** The settings in force, secrets hidden, or why they can't be told. */
export type SettingsInForce =
  | { readonly known: true; readonly settings: JsonMap; readonly from: 'record' | 'status' }
  | { readonly known: false; readonly because: string }

/** The Config in force, as far as its status goes. */
export interface ObservedConfig {
  readonly uid: string
  readonly status: unknown
}

/**
 * The settings in force, from the ConfigMap that keeps them (contract 6.5). It is written before status
 * and by nobody else, so what somebody writes into a Config's status counts for nothing before it is in
 * force. Without one that can be read, or with one of an earlier Config, a status that the operator has
 * settled tells.
 *
 * Pass null for a missing Config or ConfigMap; what could not be fetched is neither, and a reason to
 * keep the settings one has. Before any settings were ever in force nothing is known.
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
  const isEarlier = recorded.origin !== null && recorded.origin.uid !== config?.uid
  return settled && isEarlier
    ? { known: true, settings: settled, from: 'status' }
    : { known: true, settings: recorded.settings, from: 'record' }
}

/**
 * Whether this status shows settings that the operator put in force: it names the generation that it
 * was computed from and says Ready, True or False, but not that another object is in force.
 */
export function isSettledStatus(status: unknown): status is JsonMap {
  if (!isMap(status) || typeof status['observedGeneration'] !== 'number') return false
  const conditions = status['conditions']
  if (!isList(conditions)) return false
  const ready = conditions.find((one) => isMap(one) && one['type'] === 'Ready')
  return isMap(ready) && ready['reason'] !== 'NotInForce'
}

// ConfigMap `platform-config-in-force`: the settings in force, without secrets (contract 6.5). It
// outlives the Config object, so that deleting that lifts no cap. Key `config` holds the settings
// and is what others read; key `origin` is the operator's own note on where they came from.

/** Data of a ConfigMap. */
export type ConfigMapData = Readonly<Record<string, string>>

/** Which Config the recorded settings were settled for, and what they came from. */
export interface RecordOrigin {
  /** metadata.uid of the Config. */
  readonly uid: string
  /**
   * The settings of the Secret, hidden: they tell whether it held any, and whether it was changed
   * since. null: nobody knows, since an earlier record was lost.
   */
  readonly secret: JsonMap | null
  /** Settings of an earlier Config that are in force until spec is set or the Secret changes. */
  readonly carried: JsonMap
}

/** What the ConfigMap says. `origin` is null where nobody knows it. */
export interface SettingsRecord {
  readonly settings: JsonMap
  readonly origin: RecordOrigin | null
}

/**
 * Reads the ConfigMap's data. `none` when there is no such ConfigMap (null), `unreadable` when it is
 * there and holds no JSON object under `config`; a note that can't be read is no note.
 */
export function parseRecord(data: ConfigMapData | null): SettingsRecord | 'none' | 'unreadable' {
  if (data === null) return 'none'
  const settings = parsed(data['config'])
  if (!isMap(settings)) return 'unreadable'
  return { settings, origin: originOf(parsed(data['origin'])) }
}

/** The ConfigMap's data for settings that are already hidden. Equal settings give equal text. */
export const recordData = (hidden: JsonMap, origin: RecordOrigin): ConfigMapData => ({
  config: canonicalJson(hidden),
  origin: canonicalJson({ ...origin }),
})

function originOf(note: Json | undefined): RecordOrigin | null {
  if (!isMap(note)) return null
  const { uid, secret = null, carried } = note
  const isSound = typeof uid === 'string' && isMap(carried) && (isMap(secret) || secret === null)
  return isSound ? { uid, secret, carried } : null
}

function parsed(text: string | undefined): Json | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}

// The settings that this program acts on, read from the settings in force (contract 2.2, 6.2, 9.1).

/** The caps in force, or why they can't be told: the caller then keeps those it had before. */
export type CapsInForce =
  | { readonly known: true; readonly caps: Caps; readonly from: 'record' | 'status' }
  | { readonly known: false; readonly because: string }

/**
 * The caps that bind keys and tokens (contract 2.1, 2.2). Fails closed: a malformed value never reads
 * as no cap, and before any settings were ever in force nothing is known.
 */
export function capsInForce(observed: SettingsInForce): CapsInForce {
  if (!observed.known) return observed
  const { settings, from } = observed
  const caps = capsOfSettings(settings)
  if (caps) return { known: true, caps, from }
  return { known: false, because: `the caps in the ${from} are malformed: they keep as they were` }
}

/** The caps that settings set; null when a value is malformed. 0 is no cap and no lifetime. */
export function capsOfSettings(settings: JsonMap): Caps | null {
  const auth = settings['auth'] ?? {}
  if (!isMap(auth)) return null
  const max = secondsOf(auth['accessKeyMaxTTLSeconds'], 0)
  const login = secondsOf(auth['loginAccessKeyTTLSeconds'], DEFAULT_LOGIN_TTL_SECONDS)
  if (max === null || login === null) return null
  return { maxTtlSeconds: max || null, loginTtlSeconds: login || null }
}

function secondsOf(value: Json | undefined, otherwise: number): number | null {
  if (value === undefined) return otherwise
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null
}

/** The settings that the gateway acts on besides the caps (contract 6.7). */
export interface GatewaySwitches {
  /** Namespaces of projects in the management cluster begin with it. Never empty. */
  readonly projectNamespacePrefix: string
  /** `/version` needs a credential. */
  readonly authenticateVersionEndpoint: boolean
  /** Nobody writes a Config through the gateway. */
  readonly disableConfigEndpoint: boolean
}

/** The switches in force; null where they can't be told: the caller keeps those it had before. */
export function gatewaySwitchesInForce(observed: SettingsInForce): GatewaySwitches | null {
  if (!observed.known) return null
  const { settings } = observed
  const prefix = settings['projectNamespacePrefix'] ?? DEFAULT_NAMESPACE_PREFIX
  const authenticateVersionEndpoint = flag(settings['authenticateVersionEndpoint'])
  const disableConfigEndpoint = flag(settings['disableConfigEndpoint'])
  const isReadable =
    typeof prefix === 'string' &&
    namespacePrefix(prefix) === null &&
    authenticateVersionEndpoint !== null &&
    disableConfigEndpoint !== null
  return isReadable
    ? { projectNamespacePrefix: prefix, authenticateVersionEndpoint, disableConfigEndpoint }
    : null
}

function flag(value: Json | undefined): boolean | null {
  if (value === undefined) return false
  return typeof value === 'boolean' ? value : null
}
