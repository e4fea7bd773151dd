// How far agents were behind when they last sent events (contract 23.3).
import type { Clock } from '../../runtime/clock.ts'

/**
 * How long a lag is shown, in milliseconds. An agent that is behind sends at least every minute; of one that sends to another
 * gateway meanwhile, or has nothing to send, the last lag says nothing.
 */
const SHOWN_FOR_MS = 10 * 60_000

/** The most clusters: one key may be allowed to name any. */
const MOST_CLUSTERS = 1000

interface Lag {
  readonly seconds: number
  readonly heardMs: number
}

/** The lags of clusters. */
export class AgentLags {
  readonly #clock: Clock
  /** The one that was not heard of for longest first. */
  readonly #lags = new Map<string, Lag>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A batch of this cluster is in the log. @param seconds the age of its newest event when it arrived */
  heard(cluster: string, seconds: number): void {
    this.#lags.delete(cluster)
    this.#lags.set(cluster, { seconds, heardMs: this.#clock.monotonicMs() })
    const [first] = this.#lags.keys()
    if (this.#lags.size > MOST_CLUSTERS && first !== undefined) this.#lags.delete(first)
  }

  /** The clusters that were heard of lately, with their lags in seconds. */
  current(): readonly (readonly [cluster: string, seconds: number])[] {
    const sinceMs = this.#clock.monotonicMs() - SHOWN_FOR_MS
    for (const [cluster, { heardMs }] of this.#lags)
      if (heardMs < sinceMs) this.#lags.delete(cluster)
    return [...this.#lags].map(([cluster, { seconds }]) => [cluster, seconds])
  }
}
