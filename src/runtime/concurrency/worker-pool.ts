import { type Clock, sleep } from '../clock.ts'

/** Options of a worker pool. */
interface WorkerPoolOptions {
  readonly clock: Clock
  /** Maximum number of names in progress at the same time. */
  readonly atATime: number
  /** Pause of a worker, in milliseconds, after a run that returned true. */
  readonly pauseMs: number
  /** When it aborts, the workers no longer pause between runs. */
  readonly signal: AbortSignal
  /** Works on a name; never rejects. @returns whether the worker must pause, because real work was done */
  readonly run: (name: string) => Promise<boolean>
}

/**
 * Creates workers for names. Each name is queued at most once, in order of arrival, so a name that is added often
 * does not get ahead of others.
 *
 * @returns adds a name to the queue
 */
export function createWorkerPool({
  clock,
  atATime,
  pauseMs,
  signal,
  run,
}: WorkerPoolOptions): (name: string) => void {
  const waiting = new Set<string>()
  let working = 0
  const work = async (): Promise<void> => {
    working += 1
    // The loop also reaches names that are added while it runs.
    for (const name of waiting) {
      waiting.delete(name)
      if (await run(name)) await sleep(clock, pauseMs, signal)
    }
    working -= 1
  }
  return (name) => {
    waiting.add(name)
    if (working < atATime) void work()
  }
}
