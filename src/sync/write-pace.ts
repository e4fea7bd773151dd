// The pace of writes to one object (contract 19.7): the first ones go at once, those beyond wait, and none is lost.
import type { Clock } from '../runtime/clock.ts'

/** The most writes of an object in any 60 s. */
const MOST_WRITES = 10
const WINDOW_MS = 60_000

/**
 * The writes of the last minute to the objects of one side, by key. A write that must wait is merged with those that
 * come meanwhile: the caller reads the newest state when the time has come.
 */
export class WritePace {
  readonly #clock: Clock
  /** Monotonic milliseconds of the last writes, oldest first; the key that was written last comes last. */
  readonly #writtenMs = new Map<string, readonly number[]>()

  /** Only differences of the clock's monotonic counter count. */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds until the object may be written again; 0 = now. */
  delayMs(key: string): number {
    const writtenMs = this.#writtenMs.get(key) ?? []
    const [earliestMs] = writtenMs
    if (earliestMs === undefined || writtenMs.length < MOST_WRITES) return 0
    return Math.max(Math.ceil(earliestMs + WINDOW_MS - this.#clock.monotonicMs()), 0)
  }

  /** Records a write of the object. */
  wrote(key: string): void {
    const nowMs = this.#clock.monotonicMs()
    const before = this.#writtenMs.get(key) ?? []
    this.#writtenMs.delete(key)
    this.#writtenMs.set(key, [...before.slice(1 - MOST_WRITES), nowMs])
    this.#forgetBefore(nowMs - WINDOW_MS)
  }

  #forgetBefore(untilMs: number): void {
    for (const [key, writtenMs] of this.#writtenMs) {
      if ((writtenMs.at(-1) ?? untilMs) > untilMs) return
      this.#writtenMs.delete(key)
    }
  }
}
