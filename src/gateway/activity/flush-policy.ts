// Decides when a use of a key is recorded (contract 14.1), by the key object, the caps and the time alone: a use
// counts for every replica, whichever replica recorded it.
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type Caps, isLive, lifetimeOf } from '../../domain/accesskey/lifetime.ts'

/** Uses of a key that may not be recorded yet, in epoch milliseconds. */
interface UnrecordedUses {
  readonly firstMs: number
  readonly lastMs: number
}

/** The recorded use of a key, and when the next one must be recorded. Times are epoch milliseconds. */
export interface RecordedUse {
  /** Whether the key has expired or is disabled or deleted: its uses are not recorded any more. */
  readonly hasEnded: boolean
  /** The time of the recorded use; -Infinity = none, or one so far in the future that it does not count (2.9). */
  readonly recordedMs: number
  /** Whether the key expires some time after its last use: its uses are recorded without a rate limit. */
  readonly slides: boolean
  /** After this time, a use is recorded before the request goes on; Infinity for a key that does not slide. */
  readonly staleFromMs: number
  /** The longest delay from a use to its record, in milliseconds, while the API server accepts writes. */
  readonly withinMs: number
}

/** The interval of records for a key that does not slide. */
const MINUTE_MS = 60_000

/** The recorded use of a key at a given time. Never throws. */
export function recordedUseOf(key: AccessKey, caps: Caps, nowMs: number): RecordedUse {
  const { expiresMs, startMs, activityMs, effectiveSeconds } = lifetimeOf(key, caps, nowMs)
  const common = {
    hasEnded: key.isDeleting || key.isDisabled || !isLive(expiresMs, nowMs),
    recordedMs: activityMs ?? Number.NEGATIVE_INFINITY,
  }
  if (!key.slides || effectiveSeconds === null)
    return { ...common, slides: false, staleFromMs: Number.POSITIVE_INFINITY, withinMs: MINUTE_MS }
  const lifetimeMs = effectiveSeconds * 1000
  return {
    ...common,
    slides: true,
    staleFromMs: Math.max(startMs, activityMs ?? startMs) + lifetimeMs / 2,
    withinMs: Math.min(MINUTE_MS, lifetimeMs / 4),
  }
}

/** The largest jitter, as a fraction of `withinMs`. */
const MAX_JITTER = 1 / 10

/**
 * When uses are written, in epoch milliseconds. A sliding key is written after half of its delay, so that a failed
 * write can be retried; any other key at most once a minute.
 *
 * @param jitter of this replica, from 0 to below 1: replicas write at different times, and the first write spares the
 * others
 */
export function dueMsOf(
  { firstMs }: UnrecordedUses,
  recordedUse: RecordedUse,
  jitter: number,
): number {
  const { recordedMs, slides, staleFromMs, withinMs } = recordedUse
  const jitterMs = withinMs * MAX_JITTER * jitter
  if (!slides) return Math.max(firstMs, recordedMs + withinMs + jitterMs)
  return Math.min(Math.max(firstMs, recordedMs) + withinMs / 2 - jitterMs, staleFromMs)
}

/**
 * Whether a request at this time must wait until its use is recorded. It need not wait when a later use is
 * recorded already (by a replica whose clock is ahead): a recorded use that counts never moves back.
 */
export const mustRecordFirst = (
  { staleFromMs, recordedMs }: RecordedUse,
  requestMs: number,
): boolean => requestMs > staleFromMs && requestMs > recordedMs
