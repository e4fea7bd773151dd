// The time by the centre's clock, and the age of what a direct endpoint knows (contract 2.9, 9.2). The own clock may be
// wrong by an hour either way: once the centre has been heard, only its clock and the monotonic counter decide how old
// the list is.
import type { Clock } from '../../runtime/clock.ts'

/** What a poll has shown of the centre's time. */
interface HeardTime {
  /** Date of the answer, in epoch milliseconds. */
  readonly dateMs: number
  /** When the answer began, by the monotonic counter. */
  readonly monotonicMs: number
  /** asOf of the list that is valid now, in epoch milliseconds. */
  readonly asOfMs: number
}

/** The centre's time. */
export interface CentreClock {
  /**
   * Epoch milliseconds: the latest of the own clock, the centre's and asOf of the list. So no wrong own clock makes a
   * token live longer, and one that is ahead ends it early.
   */
  readonly nowMs: () => number
  /** Age of the list in milliseconds; Infinity = there was none. */
  readonly listAgeMs: () => number
  /** Age of the keys that were last taken, in milliseconds; Infinity = none were. */
  readonly keysAgeMs: () => number
  /** Date of the answer with those keys, in epoch milliseconds; null = none were taken. */
  readonly keysAsOfMs: () => number | null
  /** Own clock minus the centre's at the last poll, in milliseconds; 0 = the centre has not been heard. */
  readonly skewMs: () => number
  /** asOf of the list, in epoch milliseconds; null = there was none. */
  readonly asOfMs: () => number | null
  /** Call it after a poll whose list was taken, or is unchanged. */
  readonly heard: (time: HeardTime) => void
  /** Call it after keys were taken, or are unchanged. @param dateMs Date of the answer, in epoch milliseconds */
  readonly heardKeys: (dateMs: number) => void
  /** Call it after list and keys were read from a file: it is as old as the own clock says, and never less than 0. */
  readonly restored: (asOfMs: number) => void
}

/**
 * How much slower than the monotonic counter the centre's clock may seem, as a part of the time: more than any quartz
 * drifts. Answers that are repeated, by a cache or an attacker, must not stop the time, or no list would ever grow old.
 */
const SLOWEST = 0.01

/** Creates the clock. Until it has heard the centre, it only knows the own clock. */
export function createCentreClock(clock: Clock): CentreClock {
  let last: HeardTime | null = null
  let isRestored = false
  let keysMs: number | null = null
  let skewMs = 0
  const centreMs = ({ dateMs, monotonicMs }: HeardTime): number =>
    dateMs + clock.monotonicMs() - monotonicMs
  return {
    nowMs: () =>
      last === null
        ? clock.nowMs()
        : Math.floor(Math.max(clock.nowMs(), centreMs(last), last.asOfMs)),
    listAgeMs: () => (last === null ? Number.POSITIVE_INFINITY : centreMs(last) - last.asOfMs),
    keysAgeMs: () =>
      last === null || keysMs === null
        ? Number.POSITIVE_INFINITY
        : Math.max(centreMs(last) - keysMs, 0),
    keysAsOfMs: () => keysMs,
    skewMs: () => skewMs,
    asOfMs: () => last?.asOfMs ?? null,
    heard: (time) => {
      // An asOf a little ahead of Date has the age 0 now, and grows older from now on.
      const dateMs = Math.max(
        time.dateMs,
        time.asOfMs,
        last === null || isRestored ? 0 : earliestMs(last, time),
      )
      last = { ...time, dateMs }
      isRestored = false
      skewMs = clock.nowMs() - (clock.monotonicMs() - time.monotonicMs) - time.dateMs
    },
    heardKeys: (dateMs) => {
      keysMs = Math.max(dateMs, keysMs ?? dateMs)
    },
    restored: (asOfMs) => {
      const dateMs = Math.max(clock.nowMs(), asOfMs)
      last = { dateMs, monotonicMs: clock.monotonicMs(), asOfMs }
      // That time is by the own clock, and says nothing of the centre's.
      isRestored = true
      keysMs = asOfMs
    },
  }
}

/** The earliest that the centre's clock can show when an answer begins, by an earlier one. */
const earliestMs = (earlier: HeardTime, { monotonicMs }: Pick<HeardTime, 'monotonicMs'>): number =>
  earlier.dateMs + (monotonicMs - earlier.monotonicMs) * (1 - SLOWEST)
