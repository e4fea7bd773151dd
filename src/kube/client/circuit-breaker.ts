// One circuit breaker for all calls to an API server. Without it each key would be retried, and logged, on its own
// while the server is down.

import { backoffMs } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'

const BACK_OFF = { firstMs: 200, longestMs: 5000 }
const LOG_EVERY_MS = 60_000

/** undici's codes for timeouts; every other error without an answer is a broken connection. */
const TIMEOUTS: ReadonlySet<unknown> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** An outage of the API server, from the first failure. */
interface OutageState {
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  /** Event number of the failure that began the outage. */
  readonly startedEvent: number
  /** Number of failed probes. */
  probes: number
  /** Whether the back-off before the next probe runs. */
  isWaiting: boolean
  /** Whether a probe is in flight. */
  isProbed: boolean
  /** Monotonic time of the last log line; null = none yet, as a single failure is not logged. */
  loggedMs: number | null
}

/**
 * Tracks whether the API server of a connection responds. During an outage it admits one key per back-off as a probe.
 * Any response ends the outage.
 */
export class CircuitBreaker {
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  #log: Log | null = null
  /** Event number of the last request, response or failure. Numbers, because many events share one clock reading. */
  #events = 0
  /** Event number of the last response. */
  #lastResponse = 0
  #outage: OutageState | null = null
  #cancelBackoff = (): void => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether an outage is confirmed: a request failed that was sent after the first failure. */
  get isCertain(): boolean {
    return this.#outage !== null && this.#outage.loggedMs !== null
  }

  /** Sets the log: a line when an outage is confirmed, one each minute while it lasts, and one when it ends. */
  report(log: Log): void {
    this.#log = log
  }

  /** Call it when a request is sent. @returns its event number, for `failed` */
  sent(): number {
    this.#events += 1
    return this.#events
  }

  /** Call it when the API server responded, with any status code. */
  answered(): void {
    this.#events += 1
    this.#lastResponse = this.#events
    const ended = this.#outage
    if (ended === null) return
    this.#outage = null
    this.#cancelBackoff()
    if (ended.loggedMs !== null)
      this.#log?.info({ tookMs: this.#sinceMs(ended) }, 'the API server answers again')
    this.#notify()
  }

  /** Call it when the request with this event number got no response. */
  failed(sent: number, err: unknown): void {
    this.#events += 1
    if (this.#outage === null) {
      // A timeout while other requests get responses concerns that request only.
      if (isTimeout(err) && this.#lastResponse > sent) return
      const sinceMs = this.#clock.monotonicMs()
      const start = { probes: 0, isWaiting: true, isProbed: false, loggedMs: null }
      this.#outage = { sinceMs, startedEvent: this.#events, ...start }
      this.#backOff(this.#outage)
      return
    }
    const outage = this.#outage
    // Requests sent before the first failure prove nothing more.
    if (sent < outage.startedEvent) return
    this.#logOutage(outage, err)
    if (outage.isWaiting) return
    outage.probes += 1
    this.#backOff(outage)
  }

  /** Whether `admit` would admit a key now. */
  get isOpen(): boolean {
    return this.#outage === null || (!this.#outage.isWaiting && !this.#outage.isProbed)
  }

  /** Whether a worker may take a key; null = not now. After a probe `probed` must be called. */
  admit(): 'freely' | 'as a probe' | null {
    if (!this.isOpen) return null
    if (this.#outage === null) return 'freely'
    this.#outage.isProbed = true
    return 'as a probe'
  }

  /** Call it when the reconcile of a probe has finished, whether or not it sent a request. */
  probed(): void {
    if (this.#outage === null) return
    this.#outage.isProbed = false
    // The probe sent no request: the next key becomes the probe.
    if (!this.#outage.isWaiting) this.#notify()
  }

  /** Calls the listener whenever `admit` may return another answer. @returns removes it */
  whenOpen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Cancels the back-off. Call it when the connection closes. */
  close(): void {
    this.#cancelBackoff()
  }

  #backOff(outage: OutageState): void {
    outage.isWaiting = true
    this.#cancelBackoff = this.#clock.schedule(backoffMs(BACK_OFF, outage.probes), () => {
      outage.isWaiting = false
      this.#notify()
    })
  }

  #logOutage(outage: OutageState, err: unknown): void {
    const nowMs = this.#clock.monotonicMs()
    if (outage.loggedMs !== null && nowMs - outage.loggedMs < LOG_EVERY_MS) return
    outage.loggedMs = nowMs
    const log = this.#log
    if (log) log.warn({ forMs: this.#sinceMs(outage), err }, 'the API server does not answer')
  }

  #sinceMs({ sinceMs }: OutageState): number {
    return Math.round(this.#clock.monotonicMs() - sinceMs)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

/** The part of a circuit breaker that controllers use. */
export type Outage = Pick<CircuitBreaker, 'isCertain' | 'admit' | 'probed' | 'whenOpen'>

/** The outages of several API servers as one, for reconciles that call all of them: none may be down. */
export const anyOutage = (breakers: readonly CircuitBreaker[]): Outage => ({
  get isCertain() {
    return breakers.some((breaker) => breaker.isCertain)
  },
  admit: () => {
    // One that admitted a probe alone would wait for it in vain.
    if (!breakers.every((breaker) => breaker.isOpen)) return null
    const admitted = breakers.map((breaker) => breaker.admit())
    return admitted.includes('as a probe') ? 'as a probe' : 'freely'
  },
  probed: () => {
    for (const breaker of breakers) breaker.probed()
  },
  whenOpen: (listener) => {
    const removals = breakers.map((breaker) => breaker.whenOpen(listener))
    return () => {
      for (const remove of removals) remove()
    }
  },
})

const isTimeout = (error: unknown): boolean => TIMEOUTS.has((error as { code?: unknown }).code)
