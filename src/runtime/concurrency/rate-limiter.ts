import { type Clock, sleep } from '../clock.ts'

/** Runs a task as soon as the rate limit allows it; returns or throws as the task does. */
export type RateLimiter = <T>(task: () => Promise<T>) => Promise<T>

/** Limits of a rate limiter. */
interface RateLimits {
  /** Maximum number of tasks within `perMs`. */
  readonly maxTasks: number
  readonly perMs: number
}

/**
 * Runs one task at a time, in the order of the calls, and starts at most `maxTasks` tasks within any `perMs`. A task
 * counts from its end, so that slow requests don't arrive at the server in a burst. When the signal aborts, waiting
 * tasks run at once: they must check the signal.
 */
export function createRateLimiter(
  clock: Clock,
  { maxTasks, perMs }: RateLimits,
  signal: AbortSignal,
): RateLimiter {
  let last: Promise<unknown> = Promise.resolve()
  /** Monotonic times at which the latest tasks ended, newest last. */
  let endsMs: readonly number[] = []
  const run = async <T>(task: () => Promise<T>): Promise<T> => {
    const endMs = endsMs.at(-maxTasks) ?? Number.NEGATIVE_INFINITY
    await sleep(clock, endMs + perMs - clock.monotonicMs(), signal)
    try {
      return await task()
    } finally {
      endsMs = [...endsMs, clock.monotonicMs()].slice(-maxTasks)
    }
  }
  return (task) => {
    const result = last.then(() => run(task))
    last = result.catch(() => undefined)
    return result
  }
}
