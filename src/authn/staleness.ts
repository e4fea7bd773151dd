// The age of the gateway's knowledge (contract 10.4). Pure: moments and their proofs.
import { parseTimestamp } from '../domain/time/time.ts'
import type { Clock } from '../runtime/clock.ts'

/** A moment on both clocks of this process. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly wallMs: number
  /** Milliseconds of a counter that no clock step moves. */
  readonly monotonicMs: number
}

/** An older proof does not count: the API server is asked instead (contract 10.4). */
export const FRESH_FOR_MS = 15_000

/** Older knowledge is read again, an older heartbeat written again (contract 10.4). */
export const RENEW_AFTER_MS = 5000

/** For how long an answer may be reused (contract 10.4). */
export const REUSE_FOR_MS = 1000

/** How far another replica's clock may be ahead of ours for its heartbeat to count (contract 2.9). */
const TOLERATED_SKEW_MS = 2000

/** Now, on both clocks. */
export const momentOf = (clock: Clock): Moment => ({
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

/** Whether a proof of that moment still counts. */
export const isFresh = (proven: Moment | null, now: Moment): boolean =>
  msBetween(proven, now) <= FRESH_FOR_MS

/** The later of two proofs: a late or repeated one changes nothing. */
export const later = (a: Moment | null, b: Moment | null): Moment | null =>
  a === null || (b !== null && b.monotonicMs > a.monotonicMs) ? b : a

/** A write to the heartbeat key by this process. */
export interface Beat {
  /** The annotation that it wrote. */
  readonly written: string
  /** Taken before the write was sent: every change committed by then precedes it on the watch. */
  readonly sent: Moment
}

/**
 * The moment up to which the watch is known to be complete, by a heartbeat that just arrived; null = it
 * proves nothing. A write of this process proves the moment of its sending, whatever the clocks show. A write
 * of another replica proves the time in it, read on our clock and never later than its arrival: a replay or a
 * slow watch proves an earlier moment. A time ahead of our clock proves nothing: replicas whose clocks differ
 * each prove for themselves.
 */
export function provenBy(
  annotation: string | undefined,
  arrived: Moment,
  ours: readonly Beat[],
): Moment | null {
  const own = ours.find(({ written }) => written === annotation)
  if (own) return own.sent
  const writtenMs = parseTimestamp(annotation)
  if (writtenMs === null || writtenMs > arrived.wallMs + TOLERATED_SKEW_MS) return null
  const agoMs = Math.max(arrived.wallMs - writtenMs, 0)
  return { wallMs: arrived.wallMs - agoMs, monotonicMs: arrived.monotonicMs - agoMs }
}
