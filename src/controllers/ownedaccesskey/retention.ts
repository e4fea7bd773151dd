// How long an expired key stays.
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Lifetime } from '../../domain/accesskey/lifetime.ts'
import { formatSecond, parseTimestamp } from '../../domain/time.ts'

/**
 * When an expired key is deleted, in epoch milliseconds; null = it is kept (contract 5.2).
 *
 * The annotation takes precedence, then the label of a GitOps tool, which would recreate a deleted key. A key of a claim has
 * a successor, so it goes at once, as those of type Login do; one that is disabled stays, as the claim would make another in
 * its place (28.5). A key that
 * the cap ended stays for the whole retention after the expiry was first seen, as published in status: a cap lowered
 * by mistake may have ended it days ago.
 */
export function deletionMsOf(
  key: AccessKey,
  lifetime: Lifetime,
  retentionMs: number,
  nowMs: number,
): number | null {
  const { expiresMs } = lifetime
  if (expiresMs === null || key.onExpiry === 'Keep') return null
  if (key.isOfClaim && key.isDisabled) return null
  if (key.isTracked && key.onExpiry !== 'Delete') return null
  if (lifetime.capped)
    return (
      publishedRemovalMs(key, expiresMs) ?? wholeSecond(Math.max(expiresMs, nowMs) + retentionMs)
    )
  if (key.onExpiry === 'Delete' || key.type === 'Login' || key.isOfClaim) return expiresMs
  return expiresMs + retentionMs
}

/** Rounds up to a whole second, as the time is shown in status and must not be too early. */
const wholeSecond = (atMs: number): number => Math.ceil(atMs / 1000) * 1000

/** The removal time in status, if it was published for the same expiry; else null. */
function publishedRemovalMs({ published }: AccessKey, expiresMs: number): number | null {
  const publishedMs = parseTimestamp(published.expirationTimestamp)
  if (publishedMs === null || formatSecond(publishedMs) !== formatSecond(expiresMs)) return null
  return parseTimestamp(published.removalTimestamp)
}
