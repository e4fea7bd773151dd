import type { Caps } from '../lifetime.ts'
import { DEFAULT_LOGIN_TTL_SECONDS } from './defaults.ts'
import { isMap, type Json, type JsonMap } from './json.ts'
import type { ObservedSettings } from './observed.ts'

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
