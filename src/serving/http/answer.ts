// What the gateway says itself. Every failure is a Kubernetes Status object, as clients expect it.
import type { OutgoingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'

/**
 * An answer. The headers of every answer are added when it is sent, and Content-Length where the body is
 * whole; a body that streams is destroyed when the client goes.
 */
export interface Answer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer | Readable
}

/** An answer that is known to its end. */
export interface WholeAnswer extends Answer {
  readonly body: Buffer
}

/** The headers of every answer. */
export const ALWAYS: OutgoingHttpHeaders = { 'x-content-type-options': 'nosniff' }

/** The machine-readable word of a failure (metav1.StatusReason) with its code. */
const FAILURES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  Conflict: 409,
  AlreadyExists: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  NotImplemented: 501,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const

/** One of the words. */
export type FailureReason = keyof typeof FAILURES

/** The failure as a metav1.Status with this message; `headers` add to its own. */
export function failure(
  reason: FailureReason,
  message: string,
  headers: OutgoingHttpHeaders = {},
): WholeAnswer {
  return statusAnswer(FAILURES[reason], reason, message, headers)
}

/** A metav1.Status with a code and a reason that do not go together elsewhere, or nowhere in Kubernetes. */
export function statusAnswer(
  code: number,
  reason: string,
  message: string,
  headers: OutgoingHttpHeaders,
): WholeAnswer {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code,
  }
  return {
    status: code,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: Buffer.from(JSON.stringify(status)),
  }
}
