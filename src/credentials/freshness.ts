// How old what we know is (contract 10.4). Pure: moments and what proves them.
import { parseTimestamp } from '../domain/time.ts'
import type { Clock } from '../runtime/clock.ts'

/** A moment on both clocks of this process. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly wallMs: number
  /** Milliseconds of a counter that no clock step moves. */
  readonly monotonicMs: number
}

/** Proof that is older proves nothing: it is asked instead (contract 10.4). */
export const FRESH_FOR_MS = 15_000

/** Read anew, or written to anew, when it is older (contract 10.4). */
export const RENEW_AFTER_MS = 5000

/** An answer may be used again for so long (contract 10.4). */
export const REUSE_FOR_MS = 1000

/** What another replica's clock may be ahead of ours without its word losing its weight (contract 2.9). */
const TOLERATED_SKEW_MS = 2000

/** Now, on both clocks. */
export const momentOf = (clock: Clock): Moment => ({
  wallMs: clock.nowMs(),
  monotonicMs: clock.monotonicMs(),
})

/**
 * Milliseconds from one moment to another, on the clock on which more have passed: the counter stands
 * still while a machine sleeps, and the wall clock while it is put back. null = never, long ago.
 */
export const msBetween = (then: Moment | null, now: Moment): number =>
  then === null
    ? Number.POSITIVE_INFINITY
    : Math.max(now.monotonicMs - then.monotonicMs, now.wallMs - then.wallMs)

/** Whether what was proven then still holds. */
export const isFresh = (proven: Moment | null, now: Moment): boolean =>
  msBetween(proven, now) <= FRESH_FOR_MS

/** The later of two proofs: what comes late or again takes nothing back, and adds nothing. */
export const later = (a: Moment | null, b: Moment | null): Moment | null =>
  a === null || (b !== null && b.monotonicMs > a.monotonicMs) ? b : a

/** A write to the heartbeat key by this process. */
export interface Beat {
  /** The annotation that it wrote. */
  readonly written: string
  /** Before it left: what was committed by then comes before it on the watch. */
  readonly sent: Moment
}

/**
 * Up to when the watch is known to have told everything, from the heartbeat that it told just now; null =
 * it proves nothing. A write of our own proves the moment at which it left, whatever the clocks say. One of
 * another replica proves the time that it carries, read on our clock, and never later than it came: a
 * replay, or a watch that lags, proves old news. A time ahead of our clock can't be read on it: between
 * replicas whose clocks part, each proves for itself.
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
