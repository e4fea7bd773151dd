/**
 * Keys in the order of their arrival, each with the monotonic time since when it waits. One iterator serves
 * all takes: a new one would walk over every entry that was removed before.
 */
export class Arrivals {
  readonly #since = new Map<string, number>()
  #entries = this.#since.entries()

  get size(): number {
    return this.#since.size
  }

  has(key: string): boolean {
    return this.#since.has(key)
  }

  /** Appends a key that is not in it. */
  push(key: string, sinceMs: number): void {
    this.#since.set(key, sinceMs)
  }

  /** Removes a key; undefined when it is not in it. */
  take(key: string): number | undefined {
    const sinceMs = this.#since.get(key)
    this.#since.delete(key)
    return sinceMs
  }

  /** Removes the first; null when there is none. */
  shift(): readonly [key: string, sinceMs: number] | null {
    if (this.#since.size === 0) return null
    let first = this.#entries.next()
    if (first.done) {
      // An iterator that has ended stays so, also when keys arrive later.
      this.#entries = this.#since.entries()
      first = this.#entries.next()
    }
    if (first.done) return null
    this.#since.delete(first.value[0])
    return first.value
  }

  /** The earliest time since when one waits; infinity when none does. Walks over all keys. */
  earliestMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY
    for (const sinceMs of this.#since.values()) earliestMs = Math.min(earliestMs, sinceMs)
    return earliestMs
  }
}
