// When a use of a key is recorded (contract 14.1). Everything follows from the object, the caps and now:
// whatever replica recorded a use, all of them count from it.
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type Caps, isLive, lifetimeOf } from '../../domain/accesskey/lifetime.ts'

/** Uses of a key that may not be recorded yet, in epoch milliseconds. */
interface Uses {
  readonly firstMs: number
  readonly lastMs: number
}

/** What decides when a use of a key is recorded. Times are epoch milliseconds. */
export interface RecordedUse {
  /** Nothing is recorded any more: the key has ended, or is disabled or deleted. */
  readonly hasEnded: boolean
  /** The use that is recorded; -Infinity = none. */
  readonly recordedMs: number
  /** Whether the key's end counts from its last use: then uses are recorded whatever they cost. */
  readonly slides: boolean
  /** From then on a use is recorded before anything else happens; Infinity where it does not slide. */
  readonly staleFromMs: number
  /** How long after a use it is recorded at the latest, as far as it is in our hands. */
  readonly withinMs: number
}

const SELDOM_MS = 60_000

/** Where a key stands as of now. Never throws. */
export function recordedUseOf(key: AccessKey, caps: Caps, nowMs: number): RecordedUse {
  const { expiresMs, startMs, activityMs, effectiveSeconds } = lifetimeOf(key, caps, nowMs)
  const common = {
    hasEnded: key.isDeleting || key.isDisabled || !isLive(expiresMs, nowMs),
    recordedMs: key.lastActivityMs ?? Number.NEGATIVE_INFINITY,
  }
  if (!key.slides || effectiveSeconds === null)
    return { ...common, slides: false, staleFromMs: Number.POSITIVE_INFINITY, withinMs: SELDOM_MS }
  const lifetimeMs = effectiveSeconds * 1000
  return {
    ...common,
    slides: true,
    staleFromMs: Math.max(startMs, activityMs ?? startMs) + lifetimeMs / 2,
    withinMs: Math.min(SELDOM_MS, lifetimeMs / 4),
  }
}

/** Replicas that see the same uses write them at moments that differ by up to this part of the time. */
const SPREAD = 1 / 10

/**
 * When the uses are written. Of a sliding key in half the time there is, so that a write which fails can
 * be made again; of another a minute after the last one at the earliest.
 *
 * @param place of this replica among all, from 0 to below 1: the first to write spares the others theirs
 */
export function dueMsOf({ firstMs }: Uses, standing: RecordedUse, place: number): number {
  const { recordedMs, slides, staleFromMs, withinMs } = standing
  const spreadMs = withinMs * SPREAD * place
  if (!slides) return Math.max(firstMs, recordedMs + withinMs + spreadMs)
  return Math.min(Math.max(firstMs, recordedMs) + withinMs / 2 - spreadMs, staleFromMs)
}

/**
 * Whether a request of this moment waits until its use is recorded. A use that is recorded for a later
 * moment, by a clock ahead of ours, is never moved back: there is nothing to wait for.
 */
export const mustPrecede = ({ staleFromMs, recordedMs }: RecordedUse, requestMs: number): boolean =>
  requestMs > staleFromMs && requestMs > recordedMs
