// The time by the platform's clock, and the age of the state of a direct endpoint (contract 2.9, 9.2). The local clock
// may be an hour wrong either way: after the first response of the issuer, only the platform's clock and the monotonic
// counter decide how old the list is.
import type { Clock } from '../../runtime/clock.ts'

/** The platform's time in a response. */
interface ResponseTime {
  /** Date of the response, in epoch milliseconds. */
  readonly dateMs: number
  /** When the response began, by the monotonic counter. */
  readonly monotonicMs: number
  /** asOf of the list that is valid now, in epoch milliseconds. */
  readonly asOfMs: number
}

/** The platform's time. */
export interface IssuerClock {
  /**
   * Epoch milliseconds: the latest of the local clock, the platform's and asOf of the list. So a wrong local clock never
   * makes a token live longer, and one that is ahead ends it early.
   */
  readonly nowMs: () => number
  /** Age of the list in milliseconds; Infinity = there was none. */
  readonly listAgeMs: () => number
  /** Age of the last accepted keys, in milliseconds; Infinity = there were none. */
  readonly keysAgeMs: () => number
  /** Date of the answer with those keys, in epoch milliseconds; null = there were none. */
  readonly keysAsOfMs: () => number | null
  /** Local clock minus the platform's at the last poll, in milliseconds; 0 before the first response. */
  readonly skewMs: () => number
  /** asOf of the list, in epoch milliseconds; null = there was none. */
  readonly asOfMs: () => number | null
  /** Call it after a poll whose list was accepted, or is unchanged. */
  readonly recordResponse: (time: ResponseTime) => void
  /** Call it after keys were accepted, or are unchanged. @param dateMs Date of the answer, in epoch milliseconds */
  readonly recordKeys: (dateMs: number) => void
  /** Call it after list and keys were loaded from a file. Their age is by the local clock, and never below 0. */
  readonly restore: (asOfMs: number) => void
}

/**
 * The platform's clock may seem slower than the monotonic counter by this fraction, which is more than any quartz drifts.
 * Answers that a cache or an attacker repeats must not stop the time: otherwise no list would ever grow old.
 */
const SLOWEST = 0.01

/** Creates the clock. Until the first response, it has only the local clock. */
export function createIssuerClock(clock: Clock): IssuerClock {
  let last: ResponseTime | null = null
  let isRestored = false
  let keysMs: number | null = null
  let skewMs = 0
  const platformMs = ({ dateMs, monotonicMs }: ResponseTime): number =>
    dateMs + clock.monotonicMs() - monotonicMs
  return {
    nowMs: () =>
      last === null
        ? clock.nowMs()
        : Math.floor(Math.max(clock.nowMs(), platformMs(last), last.asOfMs)),
    listAgeMs: () => (last === null ? Number.POSITIVE_INFINITY : platformMs(last) - last.asOfMs),
    keysAgeMs: () =>
      last === null || keysMs === null
        ? Number.POSITIVE_INFINITY
        : Math.max(platformMs(last) - keysMs, 0),
    keysAsOfMs: () => keysMs,
    skewMs: () => skewMs,
    asOfMs: () => last?.asOfMs ?? null,
    recordResponse: (time) => {
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
    recordKeys: (dateMs) => {
      keysMs = Math.max(dateMs, keysMs ?? dateMs)
    },
    restore: (asOfMs) => {
      const dateMs = Math.max(clock.nowMs(), asOfMs)
      last = { dateMs, monotonicMs: clock.monotonicMs(), asOfMs }
      // That time is by the local clock, and says nothing about the platform's.
      isRestored = true
      keysMs = asOfMs
    },
  }
}

/** The earliest that the platform's clock can show when a response begins, by an earlier one. */
const earliestMs = (
  earlier: ResponseTime,
  { monotonicMs }: Pick<ResponseTime, 'monotonicMs'>,
): number => earlier.dateMs + (monotonicMs - earlier.monotonicMs) * (1 - SLOWEST)
