/** The data of a failed call, without the bodies of request and answer: both may hold a key. */
interface StatusDetails {
  /** HTTP status code. */
  readonly code: number
  /** `reason` of the Status object, such as `NotFound`; empty when the answer was no Status. */
  readonly reason: string
  /** A sentence that is safe to log. */
  readonly message: string
  /** Retry-After in milliseconds, a minute at most; null = none. */
  readonly retryAfterMs: number | null
  /** How many causes the answer names. */
  readonly causes: number
}

/** The API server answered a call with an error. */
export class StatusError extends Error implements StatusDetails {
  override readonly name = 'StatusError'
  readonly code: number
  readonly reason: string
  readonly retryAfterMs: number | null
  readonly causes: number

  constructor(details: StatusDetails) {
    super(details.message)
    // An answer is no bug of ours: the stack trace helps no one.
    delete this.stack
    this.code = details.code
    this.reason = details.reason
    this.retryAfterMs = details.retryAfterMs
    this.causes = details.causes
  }
}

interface StatusBody {
  readonly reason?: unknown
  readonly message?: unknown
  readonly details?: {
    readonly retryAfterSeconds?: unknown
    readonly causes?: readonly { readonly reason?: unknown; readonly field?: unknown }[] | null
  }
}

/**
 * Reads a failed answer. Keeps the server's message only for codes whose messages name users, verbs and
 * objects. A 400, 422 or 500 may quote a field's value: of these it keeps the causes' reasons and field
 * paths (contract 3.5).
 *
 * @param call the call, such as `PATCH ownedaccesskeys/ci`
 * @param retryAfter the Retry-After header in seconds, if any
 */
export function statusErrorOf(
  call: string,
  code: number,
  body: unknown,
  retryAfter: string | undefined,
): StatusError {
  const status: StatusBody = typeof body === 'object' && body !== null ? body : {}
  const reason = typeof status.reason === 'string' ? status.reason : ''
  const says = SAFE_TO_REPEAT.has(code) ? status.message : causesOf(status)
  const message = [`${call}: ${code} ${reason}`.trimEnd(), says].filter(isText).join(': ')
  const causes = status.details?.causes?.length ?? 0
  return new StatusError({
    code,
    reason,
    message,
    retryAfterMs: waitOf(status, retryAfter),
    causes,
  })
}

const SAFE_TO_REPEAT: ReadonlySet<number> = new Set([401, 403, 404, 409, 410, 429, 503, 504])

const isText = (part: unknown): part is string => typeof part === 'string' && part !== ''

function causesOf(status: StatusBody): string {
  const causes = status.details?.causes ?? []
  const parts = causes.map(({ field, reason }) => [field, reason].filter(isText).join(' '))
  return parts.filter(isText).join(', ')
}

/** A minute at most: a proxy that says a day must not stop us for a day. */
const LONGEST_WAIT_SECONDS = 60

function waitOf(status: StatusBody, retryAfter: string | undefined): number | null {
  const seconds = Number(retryAfter ?? status.details?.retryAfterSeconds ?? Number.NaN)
  return seconds >= 0 ? Math.min(seconds, LONGEST_WAIT_SECONDS) * 1000 : null
}

/** Whether the object does not exist. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof StatusError && error.code === 404

/** Whether the object was written since we read it, or replaced by another. */
export const isConflict = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.code === 409

/**
 * Whether a `test` of a JSON patch failed: a 422 without a cause. A rule or policy that refuses names a
 * cause.
 */
export const isTestFailed = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.code === 422 && error.causes === 0

/** Whether a resourceVersion is too old to watch from. */
export const isGone = (error: unknown): boolean =>
  error instanceof StatusError && error.code === 410

/** The API server did not answer a call: it or the network is down. Whether it acted is unknown. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError'

  /**
   * @param call the call, such as `PATCH ownedaccesskeys/ci`
   * @param cause the error of the network
   */
  constructor(call: string, cause: unknown) {
    super(`${call}: no answer`, { cause })
    // A broken connection is no bug of ours: the stack trace helps no one.
    delete this.stack
  }
}

/** A write by a process that does not lead. It was not sent. */
export class NotLeaderError extends Error {
  override readonly name = 'NotLeaderError'
  readonly code = 'NotLeader'

  constructor() {
    super('this process does not lead (any more): the write was not sent')
  }
}
