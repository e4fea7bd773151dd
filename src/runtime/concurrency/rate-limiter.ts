import { type Clock, sleep } from '../clock.ts'

/** Runs a task when its turn comes; returns or throws as the task does. */
export type RateLimiter = <T>(task: () => Promise<T>) => Promise<T>

/** Limits of a rate limiter. */
interface RateLimits {
  /** At most so many tasks within `perMs`. */
  readonly most: number
  readonly perMs: number
}

/**
 * Runs one task at a time, in the order of the calls, and begins at most `most` of them within any `perMs`.
 * A task counts from its end: so a server that a slow request reaches late gets no more. When the signal
 * aborts, tasks that wait run at once: they check the signal.
 */
export function createRateLimiter(
  clock: Clock,
  { most, perMs }: RateLimits,
  signal: AbortSignal,
): RateLimiter {
  let last: Promise<unknown> = Promise.resolve()
  /** When the latest tasks ended, on the monotonic clock, the newest last. */
  let endsMs: readonly number[] = []
  const run = async <T>(task: () => Promise<T>): Promise<T> => {
    const endMs = endsMs.at(-most) ?? Number.NEGATIVE_INFINITY
    await sleep(clock, endMs + perMs - clock.monotonicMs(), signal)
    try {
      return await task()
    } finally {
      endsMs = [...endsMs, clock.monotonicMs()].slice(-most)
    }
  }
  return (task) => {
    const mine = last.then(() => run(task))
    last = mine.catch(() => undefined)
    return mine
  }
}

/** The waits between retries, in milliseconds. */
interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * The wait before a retry: doubled each time, up to the longest.
 *
 * @param retries the retries before this one; 0 = none
 */
export const backoffMs = ({ firstMs, longestMs }: Backoff, retries: number): number =>
  Math.min(firstMs * 2 ** retries, longestMs)
