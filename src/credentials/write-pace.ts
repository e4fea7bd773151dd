import { type Clock, sleep } from '../runtime/clock.ts'

/** Runs a write when its turn has come; what the write returns or throws is the caller's. */
export type InTurn = <T>(write: () => Promise<T>) => Promise<T>

/**
 * One write at a time, in the order of asking, each begun at least so long after the one before was
 * answered: then, on the way and at the server too, no second sees more than 1000 / `pauseMs`. When
 * the signal aborts the waiting ends, and the writes that waited run at once: they look at it.
 */
export function createPace(clock: Clock, pauseMs: number, signal: AbortSignal): InTurn {
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
