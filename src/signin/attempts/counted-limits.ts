// Counters of attempts that forget with time: sliding windows, which keep the times of the last attempts, so that no window of
// that length ever has more.

/** So many attempts within a time. */
export interface Limit {
  readonly most: number
  readonly withinMs: number
}

/** A limit, and the counter that it applies to. */
export interface CountedLimit {
  readonly key: string
  readonly limit: Limit
}

const MOST_COUNTERS = 10_000

/** The counters. */
export class CountedLimits {
  // In the order of their last attempts, the oldest first.
  readonly #counters = new Map<string, readonly number[]>()

  get size(): number {
    return this.#counters.size
  }

  /**
   * Counts an attempt if every limit has room for it. One that is limited is not counted: after the time that is returned it is
   * allowed, and a flood of refusals displaces no counter.
   *
   * @param nowMs of a monotonic counter
   * @returns the time until there is room, in milliseconds; 0 = it is counted
   */
  admit(limits: readonly CountedLimit[], nowMs: number): number {
    const waitMs = this.waitMs(limits, nowMs)
    if (waitMs > 0) return waitMs
    for (const { key, times } of this.#rows(limits, nowMs)) {
      this.#counters.delete(key)
      this.#counters.set(key, [...times, nowMs])
    }
    for (const key of this.#counters.keys()) {
      if (this.#counters.size <= MOST_COUNTERS) break
      this.#counters.delete(key)
    }
    return 0
  }

  /** The time until every limit has room, in milliseconds; 0 = each has. Nothing is counted. */
  waitMs(limits: readonly CountedLimit[], nowMs: number): number {
    const rows = this.#rows(limits, nowMs)
    return Math.max(...rows.map(({ times, limit }) => waitMsOf(times, limit, nowMs)))
  }

  #rows(limits: readonly CountedLimit[], nowMs: number) {
    return limits.map(({ key, limit }) => {
      const times = this.#counters.get(key) ?? []
      return { key, limit, times: times.filter((timeMs) => timeMs > nowMs - limit.withinMs) }
    })
  }
}

/** The time until the limit has room, in milliseconds; 0 = it has. */
function waitMsOf(times: readonly number[], { most, withinMs }: Limit, nowMs: number): number {
  const leaves = times.at(-most)
  return leaves === undefined ? 0 : leaves + withinMs - nowMs
}
