import type { Condition } from '../../api/objects.ts'
import { conditionOf } from '../../domain/conditions.ts'
import { parseTimestamp } from '../../domain/time/time.ts'
import { type Token, outUntilMs } from '../../domain/token/token.ts'
import { tokenLifetimeOf } from './lifetime.ts'

/** How long an ended object stays, and the limit that its life had, both in milliseconds. */
export interface Retention {
  readonly retentionMs: number
  /** `--token-max-ttl`. */
  readonly maxTtlMs: number
}

/**
 * When an ended token object is deleted, in epoch milliseconds; null = it is kept (contract 5.2). As
 * with keys: the annotation decides first, then a GitOps tool, which would make a deleted one anew,
 * and what the cap ended is kept for the whole retention.
 *
 * @param conditions those that say that it ended, with the time of that
 */
export function removalMsOf(
  token: Token,
  conditions: readonly Condition[],
  { retentionMs, maxTtlMs }: Retention,
): number | null {
  if (token.onExpiry === 'Keep' || (token.isTracked && token.onExpiry !== 'Delete')) return null
  const ready = conditionOf(conditions, 'Ready')
  const sinceMs = parseTimestamp(ready?.lastTransitionTime) ?? 0
  const isCapped = conditionOf(conditions, 'LifetimeCapped')?.reason === 'CappedByConfig'
  if (token.onExpiry === 'Delete' && !isCapped) return sinceMs
  const endedMs = ready?.reason === 'Expired' ? endMsOf(token, maxTtlMs) : sinceMs
  return endedMs + retentionMs
}

/** One that never was out waited long before it was too late: Ready did not change then. */
const endMsOf = (token: Token, maxTtlMs: number): number =>
  outUntilMs(token) ??
  tokenLifetimeOf(token, { caps: NO_CAPS, maxTtlMs, ownerExpiresMs: null }).expiresMs

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }
