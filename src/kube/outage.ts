// One brake for all work when the API server is away: without one, each key that waits would find it out by
// itself, again and again, with a line in the log each time.
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Gate } from './queue.ts'

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 5000
const TELL_EVERY_MS = 60_000

/** What undici says of a server that took too long; all else without an answer is a broken connection. */
const TIMEOUTS: ReadonlySet<unknown> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

interface Episode {
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  /** The count of events when it began. */
  readonly began: number
  waitMs: number
  isWaiting: boolean
  isProbed: boolean
  /** When the log was last told, in monotonic milliseconds; null = a single failure is no news. */
  toldMs: number | null
}

/**
 * Whether the API server of a connection answers. While it does not, the gate is closed but for one piece
 * of work per back-off, by which its return is noticed. Any answer ends an outage.
 */
export class Outage implements Gate {
  readonly #clock: Clock
  readonly #listeners: (() => void)[] = []
  #log: Log | null = null
  /** Counts requests, answers and failures, to tell their order: a clock shows many at one time. */
  #events = 0
  #answered = 0
  #now: Episode | null = null
  #cancel = (): void => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether two requests in a row had no answer, the second sent after the first had failed. */
  get isCertain(): boolean {
    return this.#now !== null && this.#now.toldMs !== null
  }

  /** Writes to this log when an outage begins, once a minute while it lasts, and when it ends. */
  report(log: Log): void {
    this.#log = log
  }

  /** A request leaves. @returns its place in the order of events, for `failed` */
  sent(): number {
    this.#events += 1
    return this.#events
  }

  /** The API server answered, whatever it said. */
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

  /** A request that was sent then had no answer. */
  failed(sent: number, err: unknown): void {
    this.#events += 1
    if (this.#now === null) {
      // One answer that takes too long, while others come, is that request's own trouble.
      if (isTimeout(err) && this.#answered > sent) return
      const sinceMs = this.#clock.monotonicMs()
      const waitMs = FIRST_WAIT_MS
      const fresh = { isWaiting: true, isProbed: false, toldMs: null }
      this.#now = { sinceMs, began: this.#events, waitMs, ...fresh }
      this.#wait(this.#now)
      return
    }
    const now = this.#now
    // What left before the first failure says nothing new.
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
    // Work that asked the API server nothing has found out nothing.
    if (!this.#now.isWaiting) this.#tell()
  }

  whenOpen(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Ends the wait: the connection is closed. */
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
