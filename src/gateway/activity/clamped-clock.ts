import type { Clock } from '../../runtime/clock.ts'

/** A clock that the API server's Date headers correct. */
export interface ClampedClock extends Clock {
  /** @param dateMs the Date header of an answer that has just come, in epoch milliseconds */
  readonly heard: (dateMs: number) => void
}

/** The Date header has whole seconds, and answers take their time: less than this is no difference. */
const TOLERATED_MS = 2000

/**
 * An answer may be looked at late, never early: of those of this time the one that was looked at soonest
 * tells best. Longer than it, and an API server whose own clock is set back would not be followed.
 */
const BELIEVED_FOR_MS = 30_000

/**
 * The clock, never more than two seconds ahead of the API server's. Of what is recorded for a moment to
 * come nobody takes note (contract 2.9), and it can't be moved back: one gateway whose clock is wrong
 * would end every sliding key that it sees. Carried on by the monotonic counter, so that a wall clock
 * which is set ahead is noticed before the next answer.
 */
export function clampedClock(clock: Clock): ClampedClock {
  let aheadOfCounterMs = Number.POSITIVE_INFINITY
  let believedUntilMs = Number.NEGATIVE_INFINITY
  return {
    nowMs: () => Math.floor(Math.min(clock.nowMs(), clock.monotonicMs() + aheadOfCounterMs)),
    monotonicMs: () => clock.monotonicMs(),
    schedule: (delayMs, callback) => clock.schedule(delayMs, callback),
    heard: (dateMs) => {
      const counterMs = clock.monotonicMs()
      const heardMs = dateMs + TOLERATED_MS - counterMs
      if (heardMs < aheadOfCounterMs && counterMs < believedUntilMs) return
      aheadOfCounterMs = heardMs
      believedUntilMs = counterMs + BELIEVED_FOR_MS
    },
  }
}
