// What the gateway says itself. Every failure is a Kubernetes Status object, as clients expect it.
import type { OutgoingHttpHeaders } from 'node:http'

/** An answer, whole. Content-Length and the headers of every answer are added when it is sent. */
export interface Answer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer
}

/** The machine-readable word of a failure (metav1.StatusReason) with its code. */
const FAILURES = {
  Unauthorized: 401,
  MethodNotAllowed: 405,
  InternalError: 500,
  ServiceUnavailable: 503,
} as const

/** The failure as a metav1.Status with this message; `headers` add to its own. */
export function failure(
  reason: keyof typeof FAILURES,
  message: string,
  headers: OutgoingHttpHeaders = {},
): Answer {
  const code = FAILURES[reason]
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
