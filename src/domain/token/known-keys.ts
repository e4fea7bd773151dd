// The signing keys that a direct endpoint knows, and the withdrawn ones (contract 9.2). A withdrawn key may have
// leaked: it stays out, even if a restored backup of the platform publishes it again.
import type { PublicJwk } from '../signingkey/signing-key.ts'

/** The issuer's keys, and since when it no longer publishes its earlier ones. */
export interface KnownKeys {
  /** By kid: the keys that verify tokens. */
  readonly keys: ReadonlyMap<string, PublicJwk>
  /** By kid, in epoch milliseconds of the platform: keys that were published before and then were not. */
  readonly missingSinceMs: ReadonlyMap<string, number>
}

/** No key was ever seen. */
export const NO_KEYS: KnownKeys = { keys: new Map(), missingSinceMs: new Map() }

/**
 * A key that was missing for this long was withdrawn, and is refused for good. Longer than caches keep a set of keys
 * (contract 7.2), and no longer than a key is published before its first use (7.3).
 */
const WITHDRAWN_AFTER_MS = 600_000

/** Maximum number of missing keys that are kept, the latest ones: a platform withdraws a key every 15 days. */
const MOST_MISSING = 1000

/** The known keys after a poll, and the kids of published keys that are refused. */
interface KeyUpdate {
  readonly known: KnownKeys
  readonly refused: readonly string[]
}

/**
 * The known keys after the platform published this set. A key that it leaves out verifies nothing from now on; one that
 * comes back does again if it was missing for less than ten minutes.
 *
 * @param atMs Date of the answer, in epoch milliseconds, by the platform's clock
 */
export function withPublished(
  { keys, missingSinceMs }: KnownKeys,
  published: readonly PublicJwk[],
  atMs: number,
): KeyUpdate {
  const isRefused = ({ kid }: PublicJwk): boolean =>
    atMs - (missingSinceMs.get(kid) ?? atMs) >= WITHDRAWN_AFTER_MS
  const accepted = new Map(published.filter((jwk) => !isRefused(jwk)).map((jwk) => [jwk.kid, jwk]))
  const newlyMissing = [...keys.keys()].filter((kid) => !accepted.has(kid))
  const missing = new Map([...missingSinceMs, ...newlyMissing.map((kid) => [kid, atMs] as const)])
  for (const kid of accepted.keys()) missing.delete(kid)
  return {
    known: { keys: accepted, missingSinceMs: latestOf(missing) },
    refused: published.filter(isRefused).map(({ kid }) => kid),
  }
}

/** The missing keys of several replicas, each with the earliest time at which it was missing. */
export function mergedMissing(
  memories: readonly ReadonlyMap<string, number>[],
): ReadonlyMap<string, number> {
  const merged = new Map<string, number>()
  for (const [kid, sinceMs] of memories.flatMap((memory) => [...memory]))
    merged.set(kid, Math.min(sinceMs, merged.get(kid) ?? sinceMs))
  return latestOf(merged)
}

/** Whether both have the same keys; a kid is a digest of its key. */
export const sameKeys = (a: KnownKeys, b: KnownKeys): boolean =>
  a.keys.size === b.keys.size && [...a.keys.keys()].every((kid) => b.keys.has(kid))

const latestOf = (missing: ReadonlyMap<string, number>): ReadonlyMap<string, number> =>
  missing.size <= MOST_MISSING
    ? missing
    : new Map([...missing].toSorted(([, a], [, b]) => b - a).slice(0, MOST_MISSING))
