import { type Clock, sleep } from '../clock.ts'

/** Runs a write when its turn has come; returns or throws as the write does. */
export type RateLimiter = <T>(write: () => Promise<T>) => Promise<T>

/**
 * One write at a time, in the order of the calls, each begun at least `pauseMs` after the response to the one
 * before: so the server, too, gets at most 1000 / `pauseMs` in any second. When the signal aborts, writes
 * that wait run at once: they check the signal.
 */
export function createRateLimiter(clock: Clock, pauseMs: number, signal: AbortSignal): RateLimiter {
  let last: Promise<unknown> = Promise.resolve()
  let lastMs = Number.NEGATIVE_INFINITY
  const run = async <T>(write: () => Promise<T>): Promise<T> => {
    await sleep(clock, lastMs + pauseMs - clock.monotonicMs(), signal)
    try {
      return await write()
    } finally {
      lastMs = clock.monotonicMs()
    }
  }
  return (write) => {
    const mine = last.then(() => run(write))
    last = mine.catch(() => undefined)
    return mine
  }
}
