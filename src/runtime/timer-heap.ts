import { type Clock, LONGEST_TIMER_MS } from './clock.ts'

const CHILDREN = 4
/** Maximum number of keys that fire in one turn of the event loop. Other due keys fire in the next turns. */
const MAX_PER_TURN = 1000

/**
 * One deadline per key, with a heap and a single timer. Unlike `setTimeout`, it is cheap for a million keys, and a
 * deadline in 30 days does not fire at once. The timer runs a minute at most, so that a wall clock that was set
 * forward is noticed.
 */
export class TimerHeap {
  readonly #clock: Clock
  readonly #due: (key: string) => void
  readonly #heap: string[] = []
  readonly #deadlines = new Map<string, { atMs: number; slot: number }>()
  #cancelTimer: (() => void) | null = null
  #timerAtMs = Number.POSITIVE_INFINITY

  /** @param due called once for each key whose deadline has passed, earliest first */
  constructor(clock: Clock, due: (key: string) => void) {
    this.#clock = clock
    this.#due = due
  }

  /** Number of keys with a deadline. */
  get size(): number {
    return this.#heap.length
  }

  /** Sets or moves the key's deadline, in epoch milliseconds. A deadline in the past fires soon. */
  set(key: string, atMs: number): void {
    const entry = this.#deadlines.get(key)
    if (entry) {
      entry.atMs = atMs
    } else {
      this.#deadlines.set(key, { atMs, slot: this.#heap.length })
      this.#heap.push(key)
    }
    this.#restoreHeap(this.#slotOf(key))
    this.#startTimer()
  }

  /** Removes the key's deadline, if it has one. */
  delete(key: string): void {
    const entry = this.#deadlines.get(key)
    if (!entry) return
    this.#deadlines.delete(key)
    const last = this.#heap.pop()
    if (last === undefined || last === key) return
    this.#place(last, entry.slot)
    this.#restoreHeap(entry.slot)
  }

  /** Removes all deadlines and stops the timer. */
  clear(): void {
    this.#heap.length = 0
    this.#deadlines.clear()
    this.#stopTimer()
  }

  #fire(): void {
    this.#stopTimer()
    const nowMs = this.#clock.nowMs()
    const due: string[] = []
    for (let key = this.#heap[0]; key !== undefined; key = this.#heap[0]) {
      if (this.#atMs(key) > nowMs || due.length === MAX_PER_TURN) break
      this.delete(key)
      due.push(key)
    }
    this.#startTimer()
    // After the loop: a key that `due` sets to a time in the past must wait for the next timer.
    for (const key of due) this.#due(key)
  }

  #startTimer(): void {
    const first = this.#heap[0]
    if (first === undefined) return
    const atMs = this.#atMs(first)
    if (this.#cancelTimer && atMs >= this.#timerAtMs) return
    this.#stopTimer()
    this.#timerAtMs = atMs
    const delayMs = Math.min(Math.max(atMs - this.#clock.nowMs(), 0), LONGEST_TIMER_MS)
    this.#cancelTimer = this.#clock.schedule(delayMs, () => this.#fire())
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#timerAtMs = Number.POSITIVE_INFINITY
  }

  #restoreHeap(slot: number): void {
    if (!this.#siftUp(slot)) this.#siftDown(slot)
  }

  #siftUp(from: number): boolean {
    let slot = from
    while (slot > 0) {
      const parent = Math.floor((slot - 1) / CHILDREN)
      if (!this.#isEarlier(slot, parent)) break
      this.#swap(slot, parent)
      slot = parent
    }
    return slot !== from
  }

  #siftDown(from: number): void {
    for (let slot = from; ; ) {
      const child = this.#earliestChild(slot)
      if (child === null || !this.#isEarlier(child, slot)) return
      this.#swap(slot, child)
      slot = child
    }
  }

  #earliestChild(slot: number): number | null {
    const first = slot * CHILDREN + 1
    if (first >= this.#heap.length) return null
    let best = first
    const end = Math.min(first + CHILDREN, this.#heap.length)
    for (let child = first + 1; child < end; child += 1) {
      if (this.#isEarlier(child, best)) best = child
    }
    return best
  }

  #isEarlier(slot: number, other: number): boolean {
    return this.#atMs(this.#keyAt(slot)) < this.#atMs(this.#keyAt(other))
  }

  #swap(slot: number, other: number): void {
    const key = this.#keyAt(slot)
    this.#place(this.#keyAt(other), slot)
    this.#place(key, other)
  }

  #place(key: string, slot: number): void {
    this.#heap[slot] = key
    const entry = this.#deadlines.get(key)
    if (entry) entry.slot = slot
  }

  #keyAt(slot: number): string {
    return this.#heap[slot] ?? ''
  }

  #slotOf(key: string): number {
    return this.#deadlines.get(key)?.slot ?? 0
  }

  #atMs(key: string): number {
    return this.#deadlines.get(key)?.atMs ?? Number.POSITIVE_INFINITY
  }
}
