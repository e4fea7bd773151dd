// Yields to the event loop. One loop runs the Lease, the probes, all watches and the reconciles, and a gateway's
// requests. Work without I/O never yields: 100,000 reconciles would block the loop for seconds.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'

/** The time of all work in one turn of the loop; work that has begun is finished. */
const SHARE_MS = 10

/** The share of each turn of the event loop for work. One for all work of a process. */
export class EventLoopShare {
  readonly #clock: Clock
  #startedMs = 0
  #next: Promise<void> | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Await it before each piece of work: null = this turn has time left, else it resolves in the next turn. */
  pass(): Promise<void> | null {
    const nowMs = this.#clock.monotonicMs()
    if (this.#next === null) {
      this.#startedMs = nowMs
      this.#next = new Promise((resolve) => {
        setImmediate(() => {
          this.#next = null
          resolve()
        })
      })
    }
    return nowMs - this.#startedMs < SHARE_MS ? null : this.#next
  }
}

/** Items between two reads of the clock. */
const STRIDE = 50

/** Calls `each` for many items, in as many turns as needed. Resolves when all are done. */
export async function forEachYielding<T>(
  turns: EventLoopShare,
  items: Iterable<T>,
  each: (item: T) => void,
): Promise<void> {
  let count = 0
  for (const item of items) {
    if (count % STRIDE === 0) await turns.pass()
    count += 1
    each(item)
  }
}

/** As forEachYielding, sorted by time, earliest first; equal times keep their order. */
export async function forEachYieldingByTime<T>(
  turns: EventLoopShare,
  items: Iterable<T>,
  momentOf: (item: T) => number,
  each: (item: T) => void,
): Promise<void> {
  const byMoment = new Map<number, T[]>()
  await forEachYielding(turns, items, (item) => {
    const moment = momentOf(item)
    const sameMoment = byMoment.get(moment)
    if (sameMoment) sameMoment.push(item)
    else byMoment.set(moment, [item])
  })
  // To sort 100,000 numbers takes 10 ms; to sort objects by a function takes ten times as long.
  const moments = Float64Array.from(byMoment.keys()).sort()
  await forEachYielding(turns, inOrder(moments, byMoment), each)
}

function* inOrder<T>(
  moments: Iterable<number>,
  byMoment: ReadonlyMap<number, readonly T[]>,
): Generator<T> {
  for (const moment of moments) yield* byMoment.get(moment) ?? []
}

/**
 * A queue of waits for the event loop: each caller waits for so many turns after the caller before. Meanwhile
 * the loop serves what has arrived, and accepts one connection in each turn.
 */
export function createTurnQueue(turns: number): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  const wait = async (): Promise<void> => {
    for (let count = 0; count < turns; count += 1) await nextTurn()
  }
  return () => {
    last = last.then(wait)
    return last
  }
}
