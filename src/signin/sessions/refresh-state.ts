// How far the refreshes of a session are (contract 25.7). It is stored with the session, so that every leader goes on where the
// last one stopped. Pure.
import { createHash } from 'node:crypto'
import { fieldsOf } from '../../domain/json/json.ts'

/** The refreshes of a session at its provider. */
export interface RefreshState {
  /** When the provider last vouched for the person, in epoch milliseconds: at the sign-in, or at a refresh. */
  readonly confirmedMs: number
  /** When the provider was last asked, in epoch milliseconds; null = not since then. */
  readonly askedMs: number | null
  /** How often it was asked since then. */
  readonly failures: number
  /**
   * Whether it is unknown what the provider answered last: the process died, or the connection broke. The refresh token may
   * have been replaced by one that was lost.
   */
  readonly isUnanswered: boolean
}

/** The state after an answer that is good. */
export const confirmedAt = (confirmedMs: number): RefreshState => ({
  confirmedMs,
  askedMs: null,
  failures: 0,
  isUnanswered: false,
})

/** The state to store before the provider is asked. */
export const askedAt = (state: RefreshState, askedMs: number): RefreshState => ({
  ...state,
  askedMs,
  failures: state.failures + 1,
  isUnanswered: true,
})

/** The state once the provider has answered, whether good or not. */
export const answered = (state: RefreshState): RefreshState => ({ ...state, isUnanswered: false })

/** Refreshes are spread over a fifth of the interval. */
const SPREAD = 0.2
const FIRST_RETRY_MS = 60_000

/**
 * When the provider is asked next, in epoch milliseconds: after the interval ± 10 %, or in half of the life of its refresh token,
 * whichever comes first; 1, 2, 4 … minutes after a failure, but never later than after the interval.
 *
 * @param name of the session
 * @param endsMs when the refresh token ends, in epoch milliseconds; absent = unknown
 */
export function nextAskMs(
  name: string,
  { confirmedMs, askedMs, failures }: RefreshState,
  intervalMs: number,
  endsMs?: number,
): number {
  if (askedMs !== null && failures > 0)
    return askedMs + Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), intervalMs)
  const spread = (fractionOf(`${name} ${confirmedMs}`) - 0.5) * SPREAD
  const waitMs = Math.round(intervalMs * (1 + spread))
  if (endsMs === undefined) return confirmedMs + waitMs
  const halfMs = Math.max((endsMs - confirmedMs) / 2, FIRST_RETRY_MS)
  return confirmedMs + Math.min(waitMs, Math.round(halfMs))
}

/** By how much the clocks of two replicas may differ. */
const CLOCK_SKEW_MS = 60_000

/** Whether the times are of a clock that was wrong: who waited for them would ask nobody until then. */
export const isAhead = ({ confirmedMs, askedMs }: RefreshState, nowMs: number): boolean =>
  (askedMs ?? confirmedMs) > nowMs + CLOCK_SKEW_MS

/** A number from 0 to 1 that is the same for the same text. */
const fractionOf = (text: string): number =>
  createHash('sha256').update(text).digest().readUInt32BE() / 0xff_ff_ff_ff

/** The state in stored data; null = the session is not refreshed. */
export function refreshStateIn(value: unknown): RefreshState | null {
  const { confirmedMs, askedMs, failures, isUnanswered } = fieldsOf(value)
  if (typeof confirmedMs !== 'number') return null
  return {
    confirmedMs,
    askedMs: typeof askedMs === 'number' ? askedMs : null,
    failures: typeof failures === 'number' ? failures : 0,
    isUnanswered: isUnanswered !== false,
  }
}
