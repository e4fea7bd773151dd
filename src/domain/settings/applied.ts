// The settings that this program acts on, read from the settings in force (contract 2.2, 6.2, 9.1).
import type { Caps } from '../accesskey/lifetime.ts'
import { type Json, type JsonMap, isMap } from '../json/json.ts'
import { DEFAULT_LOGIN_TTL_SECONDS, DEFAULT_NAMESPACE_PREFIX } from './defaults.ts'
import type { ObservedSettings } from './observed.ts'
import { namespacePrefix } from './validation/formats.ts'

/** The caps in force, or why they can't be told: the caller then keeps those it had before. */
export type CapsReading =
  | { readonly known: true; readonly caps: Caps; readonly from: 'record' | 'status' }
  | { readonly known: false; readonly because: string }

/**
 * The caps that bind keys and tokens (contract 2.1, 2.2). Fails closed: a malformed value never reads
 * as no cap, and before any settings were ever in force nothing is known.
 */
export function capsOf(observed: ObservedSettings): CapsReading {
  if (!observed.known) return observed
  const { settings, from } = observed
  const caps = capsIn(settings)
  if (caps) return { known: true, caps, from }
  return { known: false, because: `the caps in the ${from} are malformed: they keep as they were` }
}

/** The caps that settings set; null when a value is malformed. 0 is no cap and no lifetime. */
export function capsIn(settings: JsonMap): Caps | null {
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
export function gatewaySwitchesOf(observed: ObservedSettings): GatewaySwitches | null {
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
