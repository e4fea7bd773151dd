// When the token of the store is renewed, and when a question about it that has failed is asked again (contract 36.5).
import type { TokenLife } from '../../domain/store/store-answers.ts'
import { backoffMs } from '../../runtime/backoff.ts'

/** What the life of a token means, in epoch milliseconds. */
export interface TokenPlan {
  /** null = it never ends. */
  readonly expiresMs: number | null
  /** When it is renewed; null = never. */
  readonly renewMs: number | null
}

/**
 * When a token is renewed: once two thirds of its life are over.
 *
 * @param nowMs when its life was asked for, in epoch milliseconds
 */
export function nextRenewal(
  { ttlSeconds, isRenewable, creationTtlSeconds }: TokenLife,
  nowMs: number,
): TokenPlan {
  if (ttlSeconds === 0) return { expiresMs: null, renewMs: null }
  const expiresMs = nowMs + ttlSeconds * 1000
  // A renewal may have been for longer than the creation.
  const lifeMs = Math.max(ttlSeconds, creationTtlSeconds) * 1000
  const renewMs = isRenewable ? Math.max(expiresMs - Math.floor(lifeMs / 3), nowMs) : null
  return { expiresMs, renewMs }
}

/** The shortest pause between two questions about a token, in milliseconds. */
export const SHORTEST_PAUSE_MS = 1000

const BACK_OFF = { firstMs: SHORTEST_PAUSE_MS, longestMs: 300_000 }

/** A question about a token that has failed. */
interface TokenFailure {
  /** Number of failures before this one. */
  readonly failures: number
  readonly isDenied: boolean
  /** Until the token ends; 0 or less = it has, or its end is not known. */
  readonly leftMs: number
}

/**
 * The pause before the next attempt in milliseconds. It leaves time for one before the token ends; afterwards, and where a policy
 * denies the look-up, only an administrator changes the answer.
 */
export function retryDelayMs({ failures, isDenied, leftMs }: TokenFailure): number {
  const delayMs = isDenied ? BACK_OFF.longestMs : backoffMs(BACK_OFF, failures)
  return leftMs > 0 ? Math.max(Math.min(delayMs, leftMs / 2), SHORTEST_PAUSE_MS) : delayMs
}
