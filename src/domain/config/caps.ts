import type { Caps } from '../lifetime.ts'
import { DEFAULT_LOGIN_TTL_SECONDS } from './defaults.ts'
import { isList, isMap, type Json, type JsonMap } from './json.ts'
import { type ConfigMapData, readRecord } from './record.ts'

/** The caps in force, or why they can't be told: the caller then keeps those it had before. */
export type CapsReading =
  | { readonly known: true; readonly caps: Caps; readonly from: 'status' | 'record' | 'defaults' }
  | { readonly known: false; readonly because: string }

// Where no settings were ever seen: Login keys live 20 days, nothing else is capped.
const DEFAULT_CAPS: Caps = {
  maxTtlSeconds: null,
  loginTtlSeconds: DEFAULT_LOGIN_TTL_SECONDS,
}

/**
 * The caps that bind keys and tokens (contract 2.1, 2.2), for everybody who reads them: from the
 * status of the Config in force once the operator has settled it, else from the ConfigMap that keeps
 * the settings in force, else defaults (6.5).
 *
 * Pass undefined for a missing Config or one without status, null for a missing ConfigMap; what could
 * not be fetched is neither, and a reason to keep the caps one has. Fails closed: a malformed value or
 * record never reads as no cap, it makes the caps unknown; so does a malformed record behind a status
 * that is not settled.
 */
export function capsInForce(status: unknown, record: ConfigMapData | null): CapsReading {
  if (isSettled(status)) return reading(capsIn(status), 'status')
  const recorded = readRecord(record)
  if (recorded === 'none') return { known: true, caps: DEFAULT_CAPS, from: 'defaults' }
  return reading(recorded === 'unreadable' ? null : capsIn(recorded.settings), 'record')
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
