// Work in rounds: again and again, with pauses that an event can end.
import { type Clock, sleep } from '../clock.ts'

/** Options of Rounds. */
interface RoundsOptions {
  readonly clock: Clock
  /** Ends the work. */
  readonly signal: AbortSignal
  /** Wait of a round that was woken, because one change often is several events; absent = none. */
  readonly settleMs?: number
}

/** Work in rounds. */
export class Rounds {
  readonly #options: RoundsOptions
  #pause = new AbortController()

  constructor(options: RoundsOptions) {
    this.#options = options
  }

  /** Ends the pause. A round that is under way is followed by another one at once. */
  wake(): void {
    this.#pause.abort()
  }

  /**
   * Runs one round after the other until the signal aborts.
   *
   * @param round resolves with the pause after it, in milliseconds; it must not reject
   */
  async run(round: () => Promise<number>): Promise<void> {
    const { clock, signal, settleMs } = this.#options
    while (!signal.aborted) {
      this.#pause = new AbortController()
      const waitMs = await round()
      await sleep(clock, waitMs, AbortSignal.any([signal, this.#pause.signal]))
      if (settleMs !== undefined && this.#pause.signal.aborted) await sleep(clock, settleMs, signal)
    }
  }
}
