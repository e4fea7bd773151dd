// Keeps the token of the store alive (contract 36.5).
import type { TokenLife } from '../../domain/store/store-answers.ts'
import { type Clock, LONGEST_TIMER_MS, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { StoreClient } from './client.ts'
import { SecretStoreError } from './store-error.ts'
import { nextRenewal, retryDelayMs, SHORTEST_PAUSE_MS, type TokenPlan } from './token-plan.ts'

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
    await sleep(clock, SHORTEST_PAUSE_MS, signal)
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

/** By the wall clock, which goes on while a machine sleeps. */
async function sleepUntil(dueMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let nowMs = clock.nowMs(); nowMs < dueMs && !signal.aborted; nowMs = clock.nowMs())
    await sleep(clock, Math.min(dueMs - nowMs, LONGEST_TIMER_MS), signal)
}
