import { type Clock, sleep } from '../clock.ts'

/** Options of a worker pool. */
interface WorkerPoolOptions {
  readonly clock: Clock
  /** Most names at a time. */
  readonly atATime: number
  /** A worker's pause after a name that used its turn. */
  readonly pauseMs: number
  /** Ends the pauses. */
  readonly signal: AbortSignal
  /** Works on a name; never rejects. @returns whether it used its turn: else no pause follows */
  readonly run: (name: string) => Promise<boolean>
}

/**
 * Works on names, each queued at most once, in the order of their arrival: a name that is added often does not
 * get ahead of others.
 *
 * @returns adds a name
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

/** Runs a task for a caller when there is room; returns or throws as the task does. */
type Semaphore = <Result>(caller: string, task: () => Promise<Result>) => Promise<Result>

/**
 * Bounds the tasks that run at a time, in all and for one caller. The others wait; the first one whose caller
 * has room is next.
 */
export function createSemaphore(mostInAll: number, mostOfCaller: number): Semaphore {
  const waiting: { readonly caller: string; readonly begin: () => void }[] = []
  const running: string[] = []
  const hasRoom = (caller: string): boolean =>
    running.length < mostInAll && running.filter((one) => one === caller).length < mostOfCaller
  return async (caller, task) => {
    if (hasRoom(caller)) running.push(caller)
    else await new Promise<void>((begin) => waiting.push({ caller, begin }))
    try {
      return await task()
    } finally {
      running.splice(running.indexOf(caller), 1)
      const at = waiting.findIndex((one) => hasRoom(one.caller))
      const [next] = at === -1 ? [] : waiting.splice(at, 1)
      if (next) {
        running.push(next.caller)
        next.begin()
      }
    }
  }
}
