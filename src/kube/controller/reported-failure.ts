/** How a key is tried again after a ReportedFailure; what is absent is as after any other error. */
interface RetryPace {
  /** At least this long, in milliseconds (Retry-After); null = none. */
  readonly retryAfterMs?: number | null
  /** The longest back-off in milliseconds, in place of the queue's own. */
  readonly longestMs?: number
  /** The error that was reported. Its words may not be fit for a log, and the controller logs none of it. */
  readonly cause?: Error
}

/**
 * A failure that was reported where it lasts: in an Event, a state and one line of the log. A reconcile throws it, and is
 * tried again after its back-off; each further try is a line at debug.
 */
export class ReportedFailure extends Error {
  override readonly name = 'ReportedFailure'
  readonly retryAfterMs: number | null
  /** null = the queue's own. */
  readonly longestMs: number | null

  /** @param message a sentence that is safe to log */
  constructor(message: string, { retryAfterMs, longestMs, cause }: RetryPace = {}) {
    super(message, cause === undefined ? {} : { cause })
    // What an object or a cluster says is no bug of this program: a stack trace would not help.
    delete this.stack
    this.retryAfterMs = retryAfterMs ?? null
    this.longestMs = longestMs ?? null
  }
}
