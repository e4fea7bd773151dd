/**
 * The places of a controller's workers: as many keys are reconciled at a time. A reconcile that waits for something slow
 * leaves its place to another key, so that it holds up only its own.
 */
export class WorkerPlaces {
  #free: number
  #left = 0
  readonly #waiting: (() => void)[] = []
  #onLeave: () => void = () => undefined

  /** @param count how many keys are reconciled at a time, at least 1 */
  constructor(count: number) {
    this.#free = count
  }

  /** How many reconciles have left their place for now. */
  get left(): number {
    return this.#left
  }

  /** Sets the listener that is called when a place is left: another worker may be needed to take it. */
  whenLeft(listener: () => void): void {
    this.#onLeave = listener
  }

  /** Takes a place for a key, behind those that wait for one. Resolves when there is one. */
  take(): Promise<void> {
    return this.#place((waiting) => this.#waiting.push(waiting))
  }

  /** Gives the place back when the key is reconciled. */
  giveBack(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free += 1
  }

  /** Leaves the place during a reconcile; `enter` must follow. */
  leave(): void {
    this.#left += 1
    this.giveBack()
    this.#onLeave()
  }

  /** Resolves with a place again, before keys that have had none. */
  async enter(): Promise<void> {
    await this.#place((waiting) => this.#waiting.unshift(waiting))
    this.#left -= 1
  }

  #place(wait: (waiting: () => void) => void): Promise<void> {
    if (this.#free === 0) return new Promise(wait)
    this.#free -= 1
    return Promise.resolve()
  }
}
