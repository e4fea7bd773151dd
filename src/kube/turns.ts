// One event loop carries the Lease, the probes, all watches and the work. Reconciles with nothing to do wait
// for nothing that takes a turn of it, so that 100,000 of them would be one turn of seconds.
import type { Clock } from '../runtime/clock.ts'

/** How long all work together may take of one turn; what is under way then is finished. */
const SHARE_MS = 10

/** The share that work has of each turn of the event loop. All work of a process has one of them. */
export class Turns {
  readonly #clock: Clock
  #startedMs = 0
  #next: Promise<void> | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** To be awaited before each piece of work: null while this turn has time left, else the next turn. */
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

/** So many items are looked at between two looks at the clock. */
const STRIDE = 50

/** Calls for each of many items, in as many turns as that takes. Resolves when all are done. */
export async function inTurns<T>(
  turns: Turns,
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

/** The same, the item with the earliest moment first; of two with one moment that which comes first. */
export async function inTurnsByMoment<T>(
  turns: Turns,
  items: Iterable<T>,
  momentOf: (item: T) => number,
  each: (item: T) => void,
): Promise<void> {
  const byMoment = new Map<number, T[]>()
  await inTurns(turns, items, (item) => {
    const moment = momentOf(item)
    const there = byMoment.get(moment)
    if (there) there.push(item)
    else byMoment.set(moment, [item])
  })
  // Sorting numbers alone takes 10 ms for 100,000, objects by a function of ours ten times as much.
  const moments = Float64Array.from(byMoment.keys()).sort()
  await inTurns(turns, inOrder(moments, byMoment), each)
}

function* inOrder<T>(
  moments: Iterable<number>,
  byMoment: ReadonlyMap<number, readonly T[]>,
): Generator<T> {
  for (const moment of moments) yield* byMoment.get(moment) ?? []
}
