// The requests that the gateway forwards to an API server, their answers and their failures.
import type { Readable } from 'node:stream'

/** Headers by lower-case name; a list is sent as one header for each value. */
export type UpstreamHeaders = Readonly<Record<string, string | readonly string[]>>

/** Headers that impersonate a user, always with an extra. */
export type Impersonation = UpstreamHeaders & { readonly 'impersonate-user': string }

/** A request to send; the credential of this process is added last. */
export interface UpstreamCall {
  readonly method: string
  /** Path with its query, sent unchanged behind the prefix of the server's URL. */
  readonly path: string
  readonly headers: UpstreamHeaders
  /** null = the request runs as this process itself. */
  readonly impersonation: Impersonation | null
  /** null = none. */
  readonly body: Buffer | Readable | null
  /** Whether the head of the answer has no time limit, as for watches and logs. */
  readonly isLongRunning: boolean
  /** Whether a backend behind the API server answers, whose 401 does not concern our credential; absent = no. */
  readonly isProxied?: boolean
  /** Ends the request at any time, also during the body of the answer. */
  readonly signal: AbortSignal
}

/** An answer of the API server. */
export interface UpstreamAnswer {
  readonly status: number
  readonly headers: UpstreamHeaders
  /** Fails with the connection. To destroy it ends the request. */
  readonly body: Readable
}

/** Forwards requests of callers to one API server. */
export interface Upstream {
  /**
   * Resolves with the head of the answer, with any status; it follows no redirect.
   *
   * @throws UpstreamUnavailable without an answer, or when the API server refuses the credential of this
   * process: that says nothing of the caller's
   */
  readonly send: (call: UpstreamCall) => Promise<UpstreamAnswer>
  /** Ends all requests in flight. */
  readonly close: () => Promise<void>
}

/** The API server gave no answer for the caller. The message has no part of the request. */
export class UpstreamUnavailable extends Error {
  override readonly name = 'UpstreamUnavailable'
}

/** The API server bounds requests that are not long-running to a minute. */
export const HEAD_WITHIN_MS = 60_000

/**
 * Why a request has no answer. `unprocessed`: the server did not act on it. `timedOut`: the answer took too
 * long. `lost`: the connection broke, and the server may have acted on it.
 */
export type UpstreamFailure = 'unprocessed' | 'timedOut' | 'lost'

/** A request got no head of an answer. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, cause: unknown) {
    super('the API server did not answer', { cause })
    this.failure = failure
  }
}
