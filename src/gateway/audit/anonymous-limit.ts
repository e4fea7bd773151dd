// Limits the events of requests without a caller: anyone could fill the disk with them (contract 21.6).

/** Lets a number of events a second pass, and counts those that it left out. */
export class AnonymousLimit {
  readonly #perSecond: number
  #second = Number.NEGATIVE_INFINITY
  #passed = 0
  #suppressed = 0

  /** @param perSecond most events in a second */
  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /**
   * Lets an event pass, or counts it as left out.
   *
   * @returns how many were left out since the last that passed; null = this one is left out
   */
  take(monotonicMs: number): number | null {
    const second = Math.floor(monotonicMs / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#passed = 0
    }
    if (this.#passed >= this.#perSecond) return this.leaveOut()
    this.#passed += 1
    const before = this.#suppressed
    this.#suppressed = 0
    return before
  }

  /** Counts an event as left out. */
  leaveOut(): null {
    this.#suppressed += 1
    return null
  }
}
