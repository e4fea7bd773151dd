// One event loop runs the Lease, the probes, all watches and the reconciles. Reconciles without I/O never yield:
// 100,000 of them would block the loop for seconds.
import type { Clock } from '../clock.ts'

/** The time of all work in one turn; a piece of work that has begun is finished. */
const SHARE_MS = 10

/** The share of work in each turn of the event loop. One for all work of a process. */
export class EventLoopShare {
  readonly #clock: Clock
  #startedMs = 0
  #next: Promise<void> | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Await it before each piece of work: null = this turn has time left, else the next turn. */
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

/** The same, sorted by time, earliest first; equal times keep their order. */
export async function forEachYieldingByTime<T>(
  turns: EventLoopShare,
  items: Iterable<T>,
  momentOf: (item: T) => number,
  each: (item: T) => void,
): Promise<void> {
  const byMoment = new Map<number, T[]>()
  await forEachYielding(turns, items, (item) => {
    const moment = momentOf(item)
    const there = byMoment.get(moment)
    if (there) there.push(item)
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
