// How long a proof that the gateway's knowledge is complete counts (contract 10.4). Pure.
import { parseTimestamp } from '../domain/time.ts'
import { type Moment, msBetween } from '../runtime/clock.ts'

/** An older proof does not count: the API server is asked instead (contract 10.4). */
export const FRESH_FOR_MS = 15_000

/** Older knowledge is read again, an older heartbeat written again (contract 10.4). */
export const RENEW_AFTER_MS = 5000

/** Requests within this time share one read, in milliseconds (contract 10.4). */
export const REUSE_READS_FOR_MS = 1000

/** A request waits no longer for a read of an API server that is frozen or unreachable, in milliseconds. */
export const READ_TIMEOUT_MS = 2000

/** How far another replica's clock may be ahead of ours for its heartbeat to count (contract 2.9). */
const TOLERATED_SKEW_MS = 2000

/** Whether a proof of that moment still counts. */
export const isFresh = (proven: Moment | null, now: Moment): boolean =>
  msBetween(proven, now) <= FRESH_FOR_MS

/** A write to the heartbeat key by this process. */
export interface SentHeartbeat {
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
export function momentProvenBy(
  annotation: string | undefined,
  arrived: Moment,
  ours: readonly SentHeartbeat[],
): Moment | null {
  const own = ours.find(({ written }) => written === annotation)
  if (own) return own.sent
  const writtenMs = parseTimestamp(annotation)
  if (writtenMs === null || writtenMs > arrived.wallMs + TOLERATED_SKEW_MS) return null
  const agoMs = Math.max(arrived.wallMs - writtenMs, 0)
  return { wallMs: arrived.wallMs - agoMs, monotonicMs: arrived.monotonicMs - agoMs }
}
