import type { Caps } from '../lifetime.ts'
import { DEFAULT_LOGIN_TTL_SECONDS } from './defaults.ts'
import { isList, isMap, type Json, type JsonMap } from './json.ts'
import { type ConfigMapData, readRecord } from './record.ts'

/** The caps in force, or why they can't be told: the caller then keeps those it had before. */
export type CapsReading =
  | { readonly known: true; readonly caps: Caps; readonly from: 'record' | 'status' }
  | { readonly known: false; readonly because: string }

/** The Config in force, as far as the caps go. */
export interface CapsConfig {
  readonly uid: string
  readonly status: unknown
}

/**
 * The caps that bind keys and tokens (contract 2.1, 2.2), from the ConfigMap that keeps the settings in
 * force (6.5). It is written before status and by nobody else, so what somebody writes into a Config's
 * status binds no key before it is in force. Without one that can be read, or with one of an earlier
 * Config, a status that the operator has settled tells.
 *
 * Pass null for a missing Config or ConfigMap; what could not be fetched is neither, and a reason to
 * keep the caps one has. Fails closed: a malformed value never reads as no cap, and before any settings
 * were ever in force nothing is known.
 */
export function capsInForce(config: CapsConfig | null, record: ConfigMapData | null): CapsReading {
  const recorded = readRecord(record)
  const settled = isSettled(config?.status) ? config.status : null
  if (typeof recorded !== 'object') {
    if (settled) return reading(capsIn(settled), 'status')
    const because =
      recorded === 'none' ? 'no settings were in force yet' : 'the record is unreadable'
    return { known: false, because }
  }
  const isEarlier = recorded.origin !== null && recorded.origin.uid !== config?.uid
  return settled && isEarlier
    ? reading(capsIn(settled), 'status')
    : reading(capsIn(recorded.settings), 'record')
}

/**
 * Whether this status shows settings that the operator put in force: it names the generation that it
 * was computed from and says Ready, True or False, but not that another object is in force.
 */
export function isSettled(status: unknown): status is JsonMap {
  if (!isMap(status) || typeof status['observedGeneration'] !== 'number') return false
  const conditions = status['conditions']
  if (!isList(conditions)) return false
  const ready = conditions.find((one) => isMap(one) && one['type'] === 'Ready')
  return isMap(ready) && ready['reason'] !== 'NotInForce'
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

function reading(caps: Caps | null, from: 'status' | 'record'): CapsReading {
  if (caps) return { known: true, caps, from }
  return { known: false, because: `the caps in the ${from} are malformed: they keep as they were` }
}
