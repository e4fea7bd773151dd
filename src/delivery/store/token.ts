// Keeps the token of the store alive (contract 36.5).
import type { TokenLife } from '../../domain/store/store-answers.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { type Clock, LONGEST_TIMER_MS, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { StoreClient } from './client.ts'
import { SecretStoreError } from './store-error.ts'

/** What the life of a token means, in epoch milliseconds. */
interface TokenPlan {
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

/** Options of the renewal of a token. */
interface TokenOptions {
  readonly store: Pick<StoreClient, 'lookupToken' | 'renewToken'>
  /** Called with the end of the token in epoch milliseconds; null = it has none, or the store does not say. */
  readonly observe: (expiresMs: number | null) => void
  readonly clock: Clock
  readonly log: Log
  /** Ends it: with the process, or when the settings have changed. */
  readonly signal: AbortSignal
}

const BACK_OFF = { firstMs: 1000, longestMs: 300_000 }

/**
 * Looks up the token of a client and renews it until the signal aborts. A token that may not look itself up, or that cannot be
 * renewed, is used as it is. Never rejects.
 */
export async function keepToken(options: TokenOptions): Promise<void> {
  const { store, observe, clock, signal } = options
  // The observer may still have the end of the token before.
  observe(null)
  let plan = await asked(store.lookupToken, null, options)
  while (plan !== null && plan.renewMs !== null) {
    await sleepUntil(plan.renewMs, clock, signal)
    plan = await asked(store.renewToken, plan.expiresMs, options)
    // A token at the end of its longest life is renewed for less and less.
    await sleep(clock, BACK_OFF.firstMs, signal)
  }
}

/**
 * Asks until there is an answer.
 *
 * @param expiresMs when the token ends; null = not known
 * @returns null when the signal has aborted
 */
async function asked(
  ask: () => Promise<TokenLife>,
  expiresMs: number | null,
  { observe, clock, log, signal }: TokenOptions,
): Promise<TokenPlan | null> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      // Before the question: the life that the answer says began before it arrived.
      const nowMs = clock.nowMs()
      const plan = nextRenewal(await ask(), nowMs)
      observe(plan.expiresMs)
      return plan
    } catch (error) {
      if (signal.aborted) return null
      log.warn({ err: error }, 'the token of the secret store was not looked up or renewed')
      const isDenied = error instanceof SecretStoreError && error.kind === 'denied'
      const leftMs = expiresMs === null ? 0 : expiresMs - clock.nowMs()
      await sleep(clock, retryDelayMs({ failures, isDenied, leftMs }), signal)
    }
  }
  return null
}

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
  return leftMs > 0 ? Math.max(Math.min(delayMs, leftMs / 2), BACK_OFF.firstMs) : delayMs
}

/** By the wall clock, which goes on while a machine sleeps. */
async function sleepUntil(dueMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let nowMs = clock.nowMs(); nowMs < dueMs && !signal.aborted; nowMs = clock.nowMs())
    await sleep(clock, Math.min(dueMs - nowMs, LONGEST_TIMER_MS), signal)
}
