import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Lifetime } from '../../domain/accesskey/lifetime.ts'
import { parseTimestamp, formatTimestamp } from '../../domain/time/time.ts'

/**
 * When an expired key is deleted, in epoch milliseconds; null = it is kept (contract 5.2).
 *
 * The annotation decides first, then a GitOps tool, which would make a deleted key anew. A key that
 * the cap ended is kept for the whole retention from the moment that was first seen, which is why
 * the published removal is looked at: a cap lowered by mistake may have ended it days ago.
 */
export function deletionMsOf(
  key: AccessKey,
  lifetime: Lifetime,
  retentionMs: number,
  nowMs: number,
): number | null {
  const { expiresMs } = lifetime
  if (expiresMs === null || key.onExpiry === 'Keep') return null
  if (key.isTracked && key.onExpiry !== 'Delete') return null
  if (lifetime.capped)
    return promisedMs(key, expiresMs) ?? wholeSecond(Math.max(expiresMs, nowMs) + retentionMs)
  if (key.onExpiry === 'Delete' || key.type === 'Login') return expiresMs
  return expiresMs + retentionMs
}

/** People read this time: no fraction, and none too early. */
const wholeSecond = (atMs: number): number => Math.ceil(atMs / 1000) * 1000

/** What status promises already, if it speaks of the same end. */
function promisedMs({ published }: AccessKey, expiresMs: number): number | null {
  if (published.expirationTimestamp !== formatTimestamp(expiresMs)) return null
  return parseTimestamp(published.removalTimestamp)
}
