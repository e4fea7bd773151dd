import type { REASONS } from '../../api/names.ts'
import type { Condition } from '../../api/objects.ts'
import { type Caps, earliest } from '../../domain/accesskey/lifetime.ts'
import { findCondition } from '../../domain/conditions.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'

/** What limits a token's life besides its own ttl. */
interface TokenLimits {
  readonly caps: Caps
  /** `--token-max-ttl` in milliseconds. */
  readonly maxTtlMs: number
  /** End of the owning key in epoch milliseconds; null = never, or there is none. */
  readonly ownerExpiresMs: number | null
}

/** Which limit cuts a token's life: a reason of condition LifetimeCapped. */
export type Cut = (typeof REASONS.lifetimeCapped)[number]

/** The life of a token that is issued now. Times are epoch milliseconds in whole seconds. */
export interface TokenLifetime {
  /** Its own ttl in seconds, or the default. */
  readonly ownSeconds: number
  readonly expiresMs: number
  /** The nearest end, where it is nearer than the token's own; null = nothing cuts it. */
  readonly cut: Cut | null
}

const DEFAULT_TTL_SECONDS = 86_400

/** The life of a token (contract 2.4). On a tie Config comes before the owner, the owner before the limit. */
export function tokenLifetimeOf(
  { creationMs, ttl }: { readonly creationMs: number; readonly ttl: number },
  { caps, maxTtlMs, ownerExpiresMs }: TokenLimits,
): TokenLifetime {
  const ownSeconds = ttl || DEFAULT_TTL_SECONDS
  const ownMs = creationMs + ownSeconds * 1000
  const ends: readonly (readonly [Cut, number | null])[] = [
    ['CappedByConfig', capEndMs(creationMs, caps)],
    ['CappedByOwner', ownerExpiresMs],
    ['CappedByLimit', creationMs + maxTtlMs],
  ]
  const nearestMs = ends.reduce<number | null>(
    (nearest, [, endMs]) => earliest(nearest, endMs),
    null,
  )
  const expiresMs = wholeSecond(Math.min(ownMs, nearestMs ?? ownMs))
  const cut = ends.find(([, endMs]) => endMs !== null && endMs === nearestMs)?.[0] ?? null
  return { ownSeconds, expiresMs, cut: expiresMs < ownMs ? cut : null }
}

/** When the cap ends whatever was created then; null = there is no cap. */
export const capEndMs = (creationMs: number, { maxTtlSeconds }: Caps): number | null =>
  maxTtlSeconds === null ? null : creationMs + maxTtlSeconds * 1000

/** exp has whole seconds: down, so that it is never later than what limits it. */
const wholeSecond = (atMs: number): number => Math.floor(atMs / 1000) * 1000

/** How long an ended object stays, and the limit that its life had, both in milliseconds. */
interface Retention {
  readonly retentionMs: number
  /** `--token-max-ttl`. */
  readonly maxTtlMs: number
}

/**
 * When an ended token object is deleted, in epoch milliseconds; null = it is kept (contract 5.2). As
 * with keys: the annotation decides first, then a GitOps tool, which would recreate a deleted one,
 * and what the cap ended is kept for the whole retention.
 *
 * @param conditions those that say that it ended, with the time of that
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

/** One that never was out waited long before it was too late: Ready did not change then. */
const endMsOf = (token: TokenObject, maxTtlMs: number): number =>
  issuedTokenEndMs(token) ??
  tokenLifetimeOf(token, { caps: NO_CAPS, maxTtlMs, ownerExpiresMs: null }).expiresMs

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }
