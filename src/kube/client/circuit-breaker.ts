// One circuit breaker for all work with an API server. Without it each key would retry on its own while the
// server is down, with a log line each time.
import type { Clock } from '../../runtime/clock.ts'
import { backoffMs } from '../../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../../runtime/log.ts'

const BACK_OFF = { firstMs: 200, longestMs: 5000 }
const LOG_EVERY_MS = 60_000

/** undici's codes for timeouts; every other error without an answer is a broken connection. */
const TIMEOUTS: ReadonlySet<unknown> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The time without an answer, from the first failure. */
interface Outage {
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  /** Number of the failure that began it. */
  readonly began: number
  /** Probes that failed. */
  probes: number
  isWaiting: boolean
  isProbed: boolean
  /** Monotonic time of the last log line; null = none yet, as a single failure is not logged. */
  loggedMs: number | null
}

/**
 * Whether the API server of a connection answers. While it does not, the gate passes one key per back-off as a
 * probe. Any answer ends an outage.
 */
export class CircuitBreaker {
  readonly #clock: Clock
  readonly #listeners: (() => void)[] = []
  #log: Log | null = null
  /** Numbers requests, answers and failures: many of them share one time of the clock. */
  #events = 0
  #answered = 0
  #outage: Outage | null = null
  #cancel = (): void => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether an outage is confirmed: a request failed that was sent after the first failure. */
  get isCertain(): boolean {
    return this.#outage !== null && this.#outage.loggedMs !== null
  }

  /** Writes to this log when an outage begins, once a minute while it lasts, and when it ends. */
  report(log: Log): void {
    this.#log = log
  }

  /** Call it when a request is sent. @returns its number, for `failed` */
  sent(): number {
    this.#events += 1
    return this.#events
  }

  /** Call it when the API server answered, with any code. */
  answered(): void {
    this.#events += 1
    this.#answered = this.#events
    const ended = this.#outage
    if (ended === null) return
    this.#outage = null
    this.#cancel()
    if (ended.loggedMs !== null)
      this.#log?.info({ tookMs: this.#sinceMs(ended) }, 'the API server answers again')
    this.#notify()
  }

  /** Call it when the request with this number got no answer. */
  failed(sent: number, err: unknown): void {
    this.#events += 1
    if (this.#outage === null) {
      // A timeout while other requests get answers concerns that request only.
      if (isTimeout(err) && this.#answered > sent) return
      const sinceMs = this.#clock.monotonicMs()
      const start = { probes: 0, isWaiting: true, isProbed: false, loggedMs: null }
      this.#outage = { sinceMs, began: this.#events, ...start }
      this.#wait(this.#outage)
      return
    }
    const outage = this.#outage
    // Requests that were sent before the first failure prove nothing new.
    if (sent < outage.began) return
    this.#logOutage(outage, err)
    if (outage.isWaiting) return
    outage.probes += 1
    this.#wait(outage)
  }

  /** Whether a worker may take a key: as a probe, it reports back by `probed`; null = not now. */
  admit(): 'freely' | 'as a probe' | null {
    const outage = this.#outage
    if (outage === null) return 'freely'
    if (outage.isWaiting || outage.isProbed) return null
    outage.isProbed = true
    return 'as a probe'
  }

  /** Call it when a probe is done, whether or not it sent a request. */
  probed(): void {
    if (this.#outage === null) return
    this.#outage.isProbed = false
    // A probe without a request proves nothing: the next key is the probe.
    if (!this.#outage.isWaiting) this.#notify()
  }

  /** Calls back whenever `admit` may have changed its answer. */
  whenOpen(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Ends the back-off: the connection is closed. */
  close(): void {
    this.#cancel()
  }

  #wait(outage: Outage): void {
    outage.isWaiting = true
    this.#cancel = this.#clock.schedule(backoffMs(BACK_OFF, outage.probes), () => {
      outage.isWaiting = false
      this.#notify()
    })
  }

  #logOutage(outage: Outage, err: unknown): void {
    const nowMs = this.#clock.monotonicMs()
    if (outage.loggedMs !== null && nowMs - outage.loggedMs < LOG_EVERY_MS) return
    outage.loggedMs = nowMs
    const log = this.#log
    if (log) log.warn({ forMs: this.#sinceMs(outage), err }, 'the API server does not answer')
  }

  #sinceMs({ sinceMs }: Outage): number {
    return Math.round(this.#clock.monotonicMs() - sinceMs)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

const isTimeout = (error: unknown): boolean => TIMEOUTS.has((error as { code?: unknown }).code)
