// How requests for tokens are refused (RFC 6749, 5.2). The texts quote nothing of the request.
import type { RouteAnswer } from '../answers.ts'

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

/** A request for tokens is refused. The message is for the app, and for the log. */
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
    }: {
      readonly status?: TokenRefused['status']
      readonly headers?: Readonly<Record<string, string>>
    } = {},
  ) {
    super(message)
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
