// Yields to the event loop, which runs the leader election, the probes, all watches and reconciles, and the requests
// of a gateway. Work without I/O never yields by itself: 100,000 reconciles would block the loop for seconds.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../clock.ts'

/** Time for work in one turn of the event loop. Work that has begun finishes, even if it takes longer. */
const SHARE_MS = 10

/** Limits the time of work in each turn of the event loop: of all work that shares an instance together. */
export class EventLoopShare {
  readonly #clock: Clock
  #startedMs = 0
  #next: Promise<void> | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Await it before each piece of work. null = this turn has time left; else resolves in the next turn. */
  waitForTurn(): Promise<void> | null {
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

/** Calls `each` for many items, and yields to the event loop in between. Resolves when all are done. */
export async function forEachYielding<T>(
  eventLoop: EventLoopShare,
  items: Iterable<T>,
  each: (item: T) => void,
): Promise<void> {
  let count = 0
  for (const item of items) {
    if (count % STRIDE === 0) await eventLoop.waitForTurn()
    count += 1
    each(item)
  }
}

/** As forEachYielding, but in the order of time, earliest first; items of equal time keep their order. */
export async function forEachYieldingByTime<T>(
  eventLoop: EventLoopShare,
  items: Iterable<T>,
  momentOf: (item: T) => number,
  each: (item: T) => void,
): Promise<void> {
  const byMoment = new Map<number, T[]>()
  await forEachYielding(eventLoop, items, (item) => {
    const moment = momentOf(item)
    const sameMoment = byMoment.get(moment)
    if (sameMoment) sameMoment.push(item)
    else byMoment.set(moment, [item])
  })
  // Sorts numbers: 100,000 take 10 ms, ten times less than to sort objects by a function.
  const moments = Float64Array.from(byMoment.keys()).sort()
  await forEachYielding(eventLoop, inOrder(moments, byMoment), each)
}

function* inOrder<T>(
  moments: Iterable<number>,
  byMoment: ReadonlyMap<number, readonly T[]>,
): Generator<T> {
  for (const moment of moments) yield* byMoment.get(moment) ?? []
}

/**
 * Spaces callers out: each one waits `turns` turns of the event loop after the previous caller. Meanwhile the loop
 * serves requests, and accepts one connection in each turn.
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
