/** What a failed call says, without the request's or the answer's body: both may hold a key. */
export interface FailureDetails {
  /** HTTP status code. */
  readonly code: number
  /** `reason` of the Status object, such as `NotFound`; empty when the answer was no Status. */
  readonly reason: string
  /** A sentence that is safe to log. */
  readonly message: string
  /** How long the server asked us to wait, a minute at most; null = it did not say. */
  readonly retryAfterMs: number | null
  /** How many causes the answer names. */
  readonly causes: number
}

/** The API server answered a call with anything but success. */
export class KubeFailure extends Error implements FailureDetails {
  override readonly name = 'KubeFailure'
  readonly code: number
  readonly reason: string
  readonly retryAfterMs: number | null
  readonly causes: number

  constructor(details: FailureDetails) {
    super(details.message)
    // An answer is no bug of ours: where it was read tells nobody anything.
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
 * Reads a failed answer. The server's own message is repeated only for codes whose messages name
 * users, verbs and objects; a 400, 422 or 500 may quote a field's value, so of these only the
 * causes' reasons and field paths are kept (contract 3.5).
 *
 * @param call what was asked, such as `PATCH ownedaccesskeys/ci`
 * @param retryAfter the Retry-After header in seconds, where there is one
 */
export function failureOf(
  call: string,
  code: number,
  body: unknown,
  retryAfter: string | undefined,
): KubeFailure {
  const status: StatusBody = typeof body === 'object' && body !== null ? body : {}
  const reason = typeof status.reason === 'string' ? status.reason : ''
  const says = SAFE_TO_REPEAT.has(code) ? status.message : causesOf(status)
  const message = [`${call}: ${code} ${reason}`.trimEnd(), says].filter(isText).join(': ')
  const causes = status.details?.causes?.length ?? 0
  return new KubeFailure({
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

/** No more than a minute: a proxy that says a day must not blind us for one. */
const LONGEST_WAIT_SECONDS = 60

function waitOf(status: StatusBody, retryAfter: string | undefined): number | null {
  const seconds = Number(retryAfter ?? status.details?.retryAfterSeconds ?? Number.NaN)
  return seconds >= 0 ? Math.min(seconds, LONGEST_WAIT_SECONDS) * 1000 : null
}

/** Whether the object is not there. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof KubeFailure && error.code === 404

/** Whether somebody wrote the object since we read it, or it is another one by now. */
export const isConflict = (error: unknown): error is KubeFailure =>
  error instanceof KubeFailure && error.code === 409

/**
 * Whether a `test` of a JSON patch did not hold: a 422 without a cause, while a rule or policy that
 * refuses names one.
 */
export const isTestFailed = (error: unknown): error is KubeFailure =>
  error instanceof KubeFailure && error.code === 422 && error.causes === 0

/** Whether a resourceVersion is too old to go on from. */
export const isGone = (error: unknown): boolean =>
  error instanceof KubeFailure && error.code === 410
