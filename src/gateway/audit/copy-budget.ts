// The memory of all copies of bodies that are under way (contract 21.4).

/** Counts the bytes that copies hold. One for all requests of a process. */
export class CopyBudget {
  readonly #most: number
  #held = 0

  /** @param most in bytes */
  constructor(most: number) {
    this.#most = most
  }

  /** The bytes that all copies hold. */
  get held(): number {
    return this.#held
  }

  /** Reserves bytes. @returns false = there is no room for them */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#most) return false
    this.#held += bytes
    return true
  }

  /** Gives back reserved bytes. */
  give(bytes: number): void {
    this.#held -= bytes
  }
}
