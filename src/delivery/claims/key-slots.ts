// The pace at which keys are made for claims (contract 28.5): those that have waited longest come first, because each has its
// slot.

/** Slots at equal distances, each for one claim. */
export class KeySlots {
  readonly #everyMs: number
  readonly #slots = new Map<string, number>()
  #lastMs = Number.NEGATIVE_INFINITY
  #askedMs = Number.NEGATIVE_INFINITY

  /** @param perSecond how many keys are made in a second at most */
  constructor(perSecond: number) {
    this.#everyMs = 1000 / perSecond
  }

  /**
   * When the claim may make a key, in epoch milliseconds: the slot that it has, else the next one.
   *
   * @param uid of the claim
   */
  reserve(uid: string, nowMs: number): number {
    // A clock that was ahead, and is right again: its slots would keep claims waiting for as long as it was ahead.
    if (nowMs < this.#askedMs) this.#clear()
    this.#askedMs = nowMs
    const reserved = this.#slots.get(uid)
    if (reserved !== undefined) return reserved
    const slotMs = Math.max(this.#lastMs + this.#everyMs, nowMs)
    this.#lastMs = slotMs
    this.#slots.set(uid, slotMs)
    return slotMs
  }

  #clear(): void {
    this.#slots.clear()
    this.#lastMs = Number.NEGATIVE_INFINITY
  }

  /** Gives up the slot: it was used, or the claim is gone. */
  release(uid: string): void {
    this.#slots.delete(uid)
  }
}
