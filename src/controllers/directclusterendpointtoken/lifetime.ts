import type { REASONS } from '../../api/reasons.ts'
import { type Caps, earliest } from '../../domain/accesskey/lifetime.ts'

/** The limits of a token's life besides its own ttl. */
interface TokenLimits {
  readonly caps: Caps
  /** `--token-max-ttl` in milliseconds. */
  readonly maxTtlMs: number
  /** Expiry of the owning key in epoch milliseconds; null = it never expires, or there is no owner. */
  readonly ownerExpiresMs: number | null
}

/** Which limit shortens a token's life: a reason of condition LifetimeCapped. */
export type CapReason = (typeof REASONS.lifetimeCapped)[number]

/** The life of a token that is issued now. Times are epoch milliseconds in whole seconds. */
export interface TokenLifetime {
  /** The ttl of the token, or the default, in seconds. */
  readonly ownSeconds: number
  readonly expiresMs: number
  /** The limit that shortens the token's life; null = its own ttl decides. */
  readonly cut: CapReason | null
}

const DEFAULT_TTL_SECONDS = 86_400

/** The life of a token (contract 2.4). Of equal limits the cap of Config is named first, then the owner. */
export function tokenLifetimeOf(
  { creationMs, ttl }: { readonly creationMs: number; readonly ttl: number },
  { caps, maxTtlMs, ownerExpiresMs }: TokenLimits,
): TokenLifetime {
  const ownSeconds = ttl || DEFAULT_TTL_SECONDS
  const ownMs = creationMs + ownSeconds * 1000
  const ends: readonly (readonly [CapReason, number | null])[] = [
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

/** When the cap ends a token created at that time, in epoch milliseconds; null = there is no cap. */
export const capEndMs = (creationMs: number, { maxTtlSeconds }: Caps): number | null =>
  maxTtlSeconds === null ? null : creationMs + maxTtlSeconds * 1000

/** Rounds down, as `exp` has whole seconds and must not be later than any limit. */
const wholeSecond = (atMs: number): number => Math.floor(atMs / 1000) * 1000
