/**
 * Keys in the order of their arrival, since when each waits, by a monotonic clock. Its one iterator goes on
 * where it was: a new one for each take would walk over all that was taken before.
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

  /** Puts a key that is not there behind all others. */
  push(key: string, sinceMs: number): void {
    this.#since.set(key, sinceMs)
  }

  /** Takes a key out, wherever it stands; undefined when it is not there. */
  take(key: string): number | undefined {
    const sinceMs = this.#since.get(key)
    this.#since.delete(key)
    return sinceMs
  }

  /** Takes the first out; null when there is none. */
  shift(): readonly [key: string, sinceMs: number] | null {
    if (this.#since.size === 0) return null
    let first = this.#entries.next()
    if (first.done) {
      // One that came to its end stays there, whatever arrives later.
      this.#entries = this.#since.entries()
      first = this.#entries.next()
    }
    if (first.done) return null
    this.#since.delete(first.value[0])
    return first.value
  }

  /** Since when the longest of them waits; infinity when none does. Looks at all. */
  earliestMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY
    for (const sinceMs of this.#since.values()) earliestMs = Math.min(earliestMs, sinceMs)
    return earliestMs
  }
}
