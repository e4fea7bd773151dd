// How requests of apps are refused (RFC 6749, 5.2). The texts quote nothing of the request.
import { NoResponseError, StatusError } from '../../kube/client/api-error.ts'
import type { RouteAnswer } from '../answers.ts'
import { HttpFault } from '../http/request.ts'

/** The error codes. */
export const TOKEN_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unsupported_grant_type',
  'temporarily_unavailable',
] as const

/** One of TOKEN_ERRORS. */
export type TokenError = (typeof TOKEN_ERRORS)[number]

/** A request is refused. The message is for the app, and for the log. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused'
  readonly error: TokenError
  /** HTTP status code. */
  readonly status: 400 | 401 | 429 | 503
  readonly headers: Readonly<Record<string, string>>

  constructor(
    error: TokenError,
    message: string,
    {
      status = 400,
      headers = {},
      cause,
    }: {
      readonly status?: TokenRefused['status']
      readonly headers?: Readonly<Record<string, string>>
      /** What has failed, for the log. */
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause })
    this.error = error
    this.status = status
    this.headers = headers
  }
}

/** The answer to a request that is refused. */
export const tokenRefusal = ({ status, error, message, headers }: TokenRefused): RouteAnswer => ({
  status,
  content: { json: { error, error_description: message } },
  headers,
})

/** The refusal for an error: an app reads of an outage as of anything else. @throws the error when it is a fault of this program */
export function refusalOf(error: unknown): TokenRefused {
  if (error instanceof TokenRefused) return error
  if (error instanceof HttpFault) return new TokenRefused('invalid_request', error.message)
  if (!(error instanceof StatusError || error instanceof NoResponseError)) throw error
  const message = 'the API server cannot be asked now, try again'
  return new TokenRefused('temporarily_unavailable', message, { status: 503, cause: error })
}
