// How long the object of an ended token stays.
import type { Condition } from '../../api/objects.ts'
import { findCondition } from '../../domain/conditions.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'
import { tokenLifetimeOf } from './lifetime.ts'

/** Times that decide when an ended token object is deleted, in milliseconds. */
interface Retention {
  /** `--expired-retention`. */
  readonly retentionMs: number
  /** `--token-max-ttl`. */
  readonly maxTtlMs: number
}

/**
 * When an ended token object is deleted, in epoch milliseconds; null = it is kept (contract 5.2). As for keys, the
 * annotation takes precedence, then the label of a GitOps tool; a token that the cap ended stays for the whole
 * retention.
 *
 * @param conditions the conditions of the ended token; Ready has the time of the end
 */
export function deletionMsOf(
  token: TokenObject,
  conditions: readonly Condition[],
  { retentionMs, maxTtlMs }: Retention,
): number | null {
  if (token.onExpiry === 'Keep' || (token.isTracked && token.onExpiry !== 'Delete')) return null
  const ready = findCondition(conditions, 'Ready')
  const sinceMs = parseTimestamp(ready?.lastTransitionTime) ?? 0
  const isCapped = findCondition(conditions, 'LifetimeCapped')?.reason === 'CappedByConfig'
  if (token.onExpiry === 'Delete' && !isCapped) return sinceMs
  const endedMs = ready?.reason === 'Expired' ? endMsOf(token, maxTtlMs) : sinceMs
  return endedMs + retentionMs
}

/** When the token expired. For one that was never issued Ready may have changed long before: its ttl decides. */
const endMsOf = (token: TokenObject, maxTtlMs: number): number =>
  issuedTokenEndMs(token) ??
  tokenLifetimeOf(token, { caps: NO_CAPS, maxTtlMs, ownerExpiresMs: null }).expiresMs

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }
