// How long a proof counts that the gateway has seen all changes (contract 10.4), and what a heartbeat proves.
import { parseTimestamp } from '../domain/time.ts'
import { type Moment, msBetween } from '../runtime/clock.ts'

/** Maximum age of a proof: with an older one, keys are read from the API server instead (contract 10.4). */
export const FRESH_FOR_MS = 15_000

/** Age at which settings and roles are read again, and the heartbeat is written again (contract 10.4). */
export const RENEW_AFTER_MS = 5000

/** Requests within this time share one read of a key (contract 10.4). */
export const REUSE_READS_FOR_MS = 1000

/** Timeout of reads, because the API server may hang or be unreachable. */
export const READ_TIMEOUT_MS = 2000

/** How far another replica's clock may be ahead of this clock for its heartbeat to count (contract 2.9). */
const TOLERATED_SKEW_MS = 2000

/** Whether a proof up to this moment still counts; null = there is no proof. */
export const isFresh = (proven: Moment | null, now: Moment): boolean =>
  msBetween(proven, now) <= FRESH_FOR_MS

/** A write to the heartbeat key by this process. */
export interface SentHeartbeat {
  /** Value of the annotation in the write. */
  readonly written: string
  /** When the write was sent: the watch delivers every change committed before that earlier than the write. */
  readonly sent: Moment
}

/**
 * The moment up to which a heartbeat that just arrived proves the watch complete; null = the heartbeat proves nothing.
 * A write of this process proves the moment when it was sent, whatever the clocks show. A write of another replica
 * proves the time in its annotation, by our clock and never later than its arrival, so that a replay or a slow watch
 * proves an earlier moment. A time ahead of our clock proves nothing: then each replica relies on its own writes.
 */
export function momentProvenBy(
  annotation: string | undefined,
  arrived: Moment,
  ours: readonly SentHeartbeat[],
): Moment | null {
  const ownWrite = ours.find(({ written }) => written === annotation)
  if (ownWrite) return ownWrite.sent
  const writtenMs = parseTimestamp(annotation)
  if (writtenMs === null || writtenMs > arrived.wallMs + TOLERATED_SKEW_MS) return null
  const ageMs = Math.max(arrived.wallMs - writtenMs, 0)
  return { wallMs: arrived.wallMs - ageMs, monotonicMs: arrived.monotonicMs - ageMs }
}
