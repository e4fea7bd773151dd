// Bounds the head of a response, with the informational ones (1xx) that may come before it (contract 13.3).
import type { Clock } from '../../runtime/clock.ts'
import { HEAD_WITHIN_MS, type UpstreamCall } from './types.ts'

/** Maximum informational responses to a request: servers send one or two. */
const MOST_INFORMATIONAL = 10

/**
 * The limits of one request. One deadline is for the head and all that comes before it; while the client sends its body, it
 * moves: the gateway's own server limits that time. A long-running request has no deadline.
 */
export class HeadLimits {
  readonly #clock: Clock
  readonly #exceeded: (because: string) => void
  #informational = 0
  #sentMs: number
  #isOver = false
  #stop = (): void => undefined

  /**
   * Starts the time.
   *
   * @param exceeded called once with the reason, and not after `stop`
   */
  constructor(
    clock: Clock,
    { isLongRunning }: Pick<UpstreamCall, 'isLongRunning'>,
    exceeded: (because: string) => void,
  ) {
    this.#clock = clock
    this.#exceeded = exceeded
    this.#sentMs = clock.monotonicMs()
    if (!isLongRunning) this.#wait(HEAD_WITHIN_MS)
  }

  /** A part of the body of the request was sent: the deadline moves. */
  sent(): void {
    this.#sentMs = this.#clock.monotonicMs()
  }

  /** Counts an informational response. */
  informational(): void {
    this.#informational += 1
    if (this.#informational > MOST_INFORMATIONAL)
      this.#exceed(`the API server sent more than ${MOST_INFORMATIONAL} informational responses`)
  }

  /** Ends the time: the head is here, or the request is over. */
  stop(): void {
    this.#isOver = true
    this.#stop()
  }

  #wait(forMs: number): void {
    this.#stop = this.#clock.schedule(forMs, () => {
      const leftMs = this.#sentMs + HEAD_WITHIN_MS - this.#clock.monotonicMs()
      if (leftMs > 0) this.#wait(leftMs)
      else this.#exceed('the API server did not answer in time')
    })
  }

  #exceed(because: string): void {
    if (this.#isOver) return
    this.stop()
    this.#exceeded(because)
  }
}
