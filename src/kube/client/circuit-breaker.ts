// One circuit breaker for all work while the API server is down. Without it each key would retry by itself, with
// a log line each time.
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { QueueGate } from '../controller/work-queue.ts'

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 5000
const TELL_EVERY_MS = 60_000

/** undici's codes for timeouts; every other error without an answer is a broken connection. */
const TIMEOUTS: ReadonlySet<unknown> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

interface Episode {
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  /** Number of the event that began it. */
  readonly began: number
  waitMs: number
  isWaiting: boolean
  isProbed: boolean
  /** Monotonic time of the last log line; null = none yet, as a single failure is not logged. */
  toldMs: number | null
}

/**
 * Whether the API server of a connection answers. While it does not, the gate passes one key per back-off as a
 * probe. Any answer ends an outage.
 */
export class CircuitBreaker implements QueueGate {
  readonly #clock: Clock
  readonly #listeners: (() => void)[] = []
  #log: Log | null = null
  /** Numbers requests, answers and failures: many of them share one time of the clock. */
  #events = 0
  #answered = 0
  #now: Episode | null = null
  #cancel = (): void => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a request failed that was sent after the first failure. */
  get isCertain(): boolean {
    return this.#now !== null && this.#now.toldMs !== null
  }

  /** Writes to this log when an outage begins, once a minute while it lasts, and when it ends. */
  report(log: Log): void {
    this.#log = log
  }

  /** A request is sent. @returns its number, for `failed` */
  sent(): number {
    this.#events += 1
    return this.#events
  }

  /** The API server answered, with any code. */
  answered(): void {
    this.#events += 1
    this.#answered = this.#events
    const ended = this.#now
    if (ended === null) return
    this.#now = null
    this.#cancel()
    if (ended.toldMs !== null)
      this.#log?.info({ tookMs: this.#sinceMs(ended) }, 'the API server answers again')
    this.#tell()
  }

  /** The request with this number had no answer. */
  failed(sent: number, err: unknown): void {
    this.#events += 1
    if (this.#now === null) {
      // A timeout while other requests get answers concerns that request only.
      if (isTimeout(err) && this.#answered > sent) return
      const sinceMs = this.#clock.monotonicMs()
      const waitMs = FIRST_WAIT_MS
      const fresh = { isWaiting: true, isProbed: false, toldMs: null }
      this.#now = { sinceMs, began: this.#events, waitMs, ...fresh }
      this.#wait(this.#now)
      return
    }
    const now = this.#now
    // Requests that were sent before the first failure prove nothing new.
    if (sent < now.began) return
    this.#report(now, err)
    if (now.isWaiting) return
    now.waitMs = Math.min(now.waitMs * 2, LONGEST_WAIT_MS)
    this.#wait(now)
  }

  admit(): 'freely' | 'as a probe' | null {
    const now = this.#now
    if (now === null) return 'freely'
    if (now.isWaiting || now.isProbed) return null
    now.isProbed = true
    return 'as a probe'
  }

  probed(): void {
    if (this.#now === null) return
    this.#now.isProbed = false
    // A probe that sent no request has proved nothing: let the next key try.
    if (!this.#now.isWaiting) this.#tell()
  }

  whenOpen(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Ends the back-off: the connection is closed. */
  close(): void {
    this.#cancel()
  }

  #wait(now: Episode): void {
    now.isWaiting = true
    this.#cancel = this.#clock.schedule(now.waitMs, () => {
      now.isWaiting = false
      this.#tell()
    })
  }

  #report(now: Episode, err: unknown): void {
    const nowMs = this.#clock.monotonicMs()
    if (now.toldMs !== null && nowMs - now.toldMs < TELL_EVERY_MS) return
    now.toldMs = nowMs
    const log = this.#log
    if (log) log.warn({ forMs: this.#sinceMs(now), err }, 'the API server does not answer')
  }

  #sinceMs({ sinceMs }: Episode): number {
    return Math.round(this.#clock.monotonicMs() - sinceMs)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

const isTimeout = (error: unknown): boolean => TIMEOUTS.has((error as { code?: unknown }).code)
