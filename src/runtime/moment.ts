import type { Clock } from './clock.ts'

/** A moment on both clocks of this process. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly wallMs: number
  /** Milliseconds of a counter that no clock step moves. */
  readonly monotonicMs: number
}

/** Now, on both clocks. */
export const currentMoment = (clock: Clock): Moment => ({
  wallMs: clock.nowMs(),
  monotonicMs: clock.monotonicMs(),
})

/**
 * Milliseconds between two moments, by the clock that shows more: the counter stops while a machine sleeps,
 * and the wall clock may be set back. null = never, infinitely long ago.
 */
export const msBetween = (then: Moment | null, now: Moment): number =>
  then === null
    ? Number.POSITIVE_INFINITY
    : Math.max(now.monotonicMs - then.monotonicMs, now.wallMs - then.wallMs)

/** The later of two proofs: a late or repeated one changes nothing. */
export const laterMoment = (a: Moment | null, b: Moment | null): Moment | null =>
  a === null || (b !== null && b.monotonicMs > a.monotonicMs) ? b : a
