/** The data of a failed call, without the bodies of request and answer: both may hold a key. */
interface StatusDetails {
  /** HTTP status code. */
  readonly code: number
  /** `reason` of the Status object, such as `NotFound`; empty = the response was no Status. */
  readonly reason: string
  /** A sentence that is safe to log. */
  readonly message: string
  /** Retry-After in milliseconds, a minute at most; null = none. */
  readonly retryAfterMs: number | null
  /** Whether a `test` of a JSON patch failed: the object is not the one that the caller has read. */
  readonly isTestFailed: boolean
  /**
   * The server's own message, cut to 1024 characters. It may quote values of the object: never log it, and show it only
   * of an object without secrets. Absent or empty = the server gave none.
   */
  readonly words?: string
}

/** The API server answered a call with an error. */
export class StatusError extends Error implements StatusDetails {
  override readonly name = 'StatusError'
  readonly code: number
  readonly reason: string
  readonly retryAfterMs: number | null
  readonly isTestFailed: boolean
  /** The server's own message; not for logs. Empty = none. */
  declare readonly words: string

  constructor(details: StatusDetails) {
    super(details.message)
    // An error response is not a bug of this program: a stack trace would not help.
    delete this.stack
    this.code = details.code
    this.reason = details.reason
    this.retryAfterMs = details.retryAfterMs
    this.isTestFailed = details.isTestFailed
    // Not enumerable, so that no log and no inspection shows it.
    Object.defineProperty(this, 'words', { value: details.words ?? '', enumerable: false })
  }
}

/**
 * The error without what the API server has said: a policy or a webhook answers with any code, and can quote values of
 * the object in its message.
 *
 * @param call as in statusErrorOf
 */
export const withoutDetail = (
  { code, reason, retryAfterMs, isTestFailed }: StatusError,
  call: string,
): StatusError =>
  new StatusError({
    code,
    reason,
    message: `${call}: ${code} ${reason}`.trimEnd(),
    retryAfterMs,
    isTestFailed,
  })

interface StatusBody {
  readonly reason?: unknown
  readonly message?: unknown
  readonly details?: {
    readonly retryAfterSeconds?: unknown
    readonly causes?: readonly { readonly reason?: unknown; readonly field?: unknown }[] | null
  }
}

/**
 * Makes a StatusError from an error response. It keeps the server's message only for codes whose messages name users,
 * verbs and objects. A 400, 422 or 500 may quote a field's value: then only reasons and field paths of causes
 * (contract 3.5).
 *
 * @param call the call, such as `PATCH ownedaccesskeys/ci`
 * @param retryAfter the Retry-After header, in seconds; undefined = none
 */
export function statusErrorOf(
  call: string,
  code: number,
  body: unknown,
  retryAfter: string | undefined,
): StatusError {
  const status: StatusBody = typeof body === 'object' && body !== null ? body : {}
  const reason = typeof status.reason === 'string' ? status.reason : ''
  const detail = SAFE_TO_LOG.has(code) ? status.message : causesOf(status)
  const message = [`${call}: ${code} ${reason}`.trimEnd(), detail].filter(isText).join(': ')
  // Schema rules and policies name a cause, a failed `test` has none. A webhook may refuse any write without a cause.
  const isTestFailed =
    call.startsWith('PATCH') && code === 422 && (status.details?.causes ?? []).length === 0
  return new StatusError({
    code,
    reason,
    message,
    retryAfterMs: retryAfterMsOf(status, retryAfter),
    isTestFailed,
    words: typeof status.message === 'string' ? status.message.slice(0, LONGEST_WORDS) : '',
  })
}

const LONGEST_WORDS = 1024

const SAFE_TO_LOG: ReadonlySet<number> = new Set([401, 403, 404, 409, 410, 429, 503, 504])

const isText = (part: unknown): part is string => typeof part === 'string' && part !== ''

function causesOf(status: StatusBody): string {
  const causes = status.details?.causes ?? []
  const parts = causes.map(({ field, reason }) => [field, reason].filter(isText).join(' '))
  return parts.filter(isText).join(', ')
}

/** Retry-After is capped at a minute: a proxy that asks for a day must not stop this process for a day. */
const LONGEST_RETRY_AFTER_SECONDS = 60

function retryAfterMsOf(status: StatusBody, retryAfter: string | undefined): number | null {
  const seconds = Number(retryAfter ?? status.details?.retryAfterSeconds ?? Number.NaN)
  return seconds >= 0 ? Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS) * 1000 : null
}

/** Whether the object does not exist. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof StatusError && error.code === 404

/** Whether a write failed because the object had changed since it was read, or existed already. */
export const isConflict = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.code === 409

/** Whether a `test` of a JSON patch failed. */
export const isTestFailed = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.isTestFailed

/** A failed `test` of a JSON patch as the conflict that it is: the cache is stale. Every other error is returned as it is. */
export function testFailedAsConflict(error: unknown): unknown {
  if (!isTestFailed(error)) return error
  const { message, retryAfterMs } = error
  const reason = 'Conflict'
  return new StatusError({ code: 409, reason, message, retryAfterMs, isTestFailed: false })
}

/** Whether a resourceVersion is too old to watch from. */
export const isGone = (error: unknown): boolean =>
  error instanceof StatusError && error.code === 410

/** Too many requests, and a server that is not available: they say nothing about the object. */
const TRANSIENT: ReadonlySet<number> = new Set([429, 503, 504])

/**
 * Whether the API server refuses a write for what the object says or who writes it: not for a stale cache, nor because
 * the server is busy.
 *
 * @param isKnown whether the object was there when it was read: a 404 then means that it is gone. A create gets it
 * for a missing namespace.
 */
export const isRefusal = (error: unknown, isKnown: boolean): error is StatusError =>
  error instanceof StatusError && !isStale(error, isKnown) && !TRANSIENT.has(error.code)

const isStale = (error: StatusError, isKnown: boolean): boolean =>
  isConflict(error) || isTestFailed(error) || (isKnown && isNotFound(error))

/** The API server did not answer a call: it or the network is down. Whether it acted is unknown. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError'

  /**
   * @param call the call, such as `PATCH ownedaccesskeys/ci`
   * @param cause the error of the network
   */
  constructor(call: string, cause: unknown) {
    super(`${call}: no answer`, { cause })
    // A broken connection is not a bug of this program: a stack trace would not help.
    delete this.stack
  }
}

/** A write was not sent, because this process is not the leader. */
export class NotLeaderError extends Error {
  override readonly name = 'NotLeaderError'
  readonly code = 'NotLeader'

  constructor() {
    super('this process does not lead (any more): the write was not sent')
  }
}
