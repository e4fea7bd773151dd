import { type Clock, sleep } from '../clock.ts'

/** How names are taken. */
export interface WorkerPoolOptions {
  readonly clock: Clock
  readonly atATime: number
  /** Between the end of one and the beginning of the next, of those that took their turn. */
  readonly pauseMs: number
  /** Ends the pauses. */
  readonly signal: AbortSignal
  /** Never rejects. @returns whether it took its turn: else the next one comes without a pause */
  readonly run: (name: string) => Promise<boolean>
}

/**
 * A lane of names that wait for their turn, each once, in the order of coming: so nobody is passed over
 * for one that comes more often.
 *
 * @returns what adds a name
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
    // Whoever comes while this goes on is taken by it as well.
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
