// The requests that the gateway forwards to an API server, with their responses and failures.
import { type Duplex, Readable } from 'node:stream'
import type { EndSignal } from '../../runtime/concurrency/end-signal.ts'
import type { OpenConnection } from '../client/connection.ts'

/** Headers by lower-case name; a list is sent as one header per value. */
export type UpstreamHeaders = Readonly<Record<string, string | readonly string[]>>

/** The headers of a response as they came: names and values in turn. A repeated header is a list. */
export function headersFromRaw(raw: readonly string[]): UpstreamHeaders {
  const headers = new Map<string, string | string[]>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? ''
    const value = raw[at + 1] ?? ''
    const before = headers.get(name)
    // A peer may repeat a name thousands of times: a list that is copied each time would take seconds.
    if (before === undefined) headers.set(name, value)
    else if (typeof before === 'string') headers.set(name, [before, value])
    else before.push(value)
  }
  return Object.fromEntries(headers)
}

/** Impersonation headers: a user and at least one extra. */
export type Impersonation = UpstreamHeaders & { readonly 'impersonate-user': string }

/**
 * The server that an upstream leads to. A Connection of a kubeconfig is one; any HTTPS server may be another.
 *
 * A server for which this process has no credential can refuse none: its 401 and 403 are the caller's, like any answer.
 */
export interface UpstreamServer {
  /** Path prefix of the server's URL, without a trailing slash; mostly empty. */
  readonly prefix: string
  /** Opens what the next request is sent with. @param refused whether the server has just refused the credential */
  readonly open: (refused?: boolean) => Promise<OpenedUpstream>
  /**
   * Whether this process has no account there, so that its refusals are about the caller. Absent = it has one, also while
   * the file of its token is empty for a moment.
   */
  readonly isWithoutAccount?: true
}

/** The pool for HTTP/1.1, the address and options of other connections, and the credential of this process. */
export type OpenedUpstream = Pick<OpenConnection, 'forwards' | 'origin' | 'tls' | 'headers'>

/** A request to forward. The credential of this process is added when it is sent. */
export interface UpstreamCall {
  readonly method: string
  /** Path and query, sent unchanged after the path prefix of the server's URL. */
  readonly path: string
  readonly headers: UpstreamHeaders
  /** null = the request runs as this process itself. */
  readonly impersonation: Impersonation | null
  /** null = no body. */
  readonly body: Buffer | Readable | null
  /** Whether the head of the response has no time limit, as for watches and logs. */
  readonly isLongRunning: boolean
  /** Whether a backend behind the API server responds: its 401 does not concern our credential. Absent = no. */
  readonly isProxied?: boolean
  /** Ends the request, even while the body of the response streams. */
  readonly signal: EndSignal
  /**
   * Asked on an open connection right before the request is sent, each time; false = it is not sent. Absent = it is. Upgrades
   * are not asked for: `signal` ends them at once.
   */
  readonly maySend?: (() => boolean) | undefined
}

/** A response of the API server. */
export interface UpstreamAnswer {
  readonly status: number
  readonly headers: UpstreamHeaders
  /** The body; fails with the connection. Destroying it ends the request. */
  readonly body: Readable
}

/** A response that arrived whole. Its bytes become a stream only for a caller that reads one: most send them on in one piece. */
export class ArrivedAnswer implements UpstreamAnswer {
  readonly status: number
  readonly headers: UpstreamHeaders
  /** The body. */
  readonly bytes: Buffer
  #body: Readable | null = null

  constructor(status: number, headers: UpstreamHeaders, bytes: Buffer) {
    this.status = status
    this.headers = headers
    this.bytes = bytes
  }

  get body(): Readable {
    this.#body ??= new ArrivedBody(this.bytes)
    return this.#body
  }
}

/** A body that is in memory. */
class ArrivedBody extends Readable {
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    super()
    this.#bytes = bytes
  }

  override _read(): void {
    this.push(this.#bytes)
    this.push(null)
  }
}

/** The protocols of upgraded connections, as kubectl and the API server use them. */
export const UPGRADE_PROTOCOLS = ['SPDY/3.1', 'websocket'] as const

/** One of UPGRADE_PROTOCOLS. */
export type UpgradeProtocol = (typeof UPGRADE_PROTOCOLS)[number]

/** The connection after the API server's 101. */
export interface UpstreamTunnel {
  readonly status: 101
  readonly headers: UpstreamHeaders
  /** Both directions of the connection, with the bytes that came with the head. Destroying it closes the connection. */
  readonly socket: Duplex
}

/** Forwards requests of callers to one API server. */
export interface Upstream {
  /**
   * Sends a request. Resolves with the head of the response, of any status; redirects are not followed.
   *
   * @throws UpstreamUnavailable without a response, or when the API server refuses the account of this process, which
   * has nothing to do with the caller's
   */
  readonly send: (call: UpstreamCall) => Promise<UpstreamAnswer>
  /**
   * Sends a request for an upgrade, on a connection of its own. Resolves with the tunnel, or with another answer, after
   * which the connection is closed: of any other status, or a 101 that is not to the protocol of the call.
   *
   * @throws UpstreamUnavailable as `send` does
   */
  readonly upgrade: (
    call: UpstreamCall & { readonly protocol: UpgradeProtocol },
  ) => Promise<UpstreamAnswer | UpstreamTunnel>
  /** Ends all requests in flight. */
  readonly close: () => Promise<void>
}

/**
 * The fate of a request without a response. `unprocessed`: it was not sent, or the API server has not processed it.
 * `accountRefused`: the same, as the API server refuses the account of this process. `unanswered`: the API server may
 * have carried it out.
 */
export type UnavailableOutcome = 'unprocessed' | 'accountRefused' | 'unanswered'

/** The API server gave no response for the caller. The message quotes nothing of the request. */
export class UpstreamUnavailable extends Error {
  override readonly name = 'UpstreamUnavailable'
  readonly outcome: UnavailableOutcome

  constructor(outcome: UnavailableOutcome, message: string, options?: ErrorOptions) {
    super(message, options)
    this.outcome = outcome
  }
}

/**
 * Time limit of the head of a response, and of the informational ones before it. The API server itself limits requests
 * that are not long-running to a minute.
 */
export const HEAD_WITHIN_MS = 60_000

/**
 * Why a request got no response. `unprocessed`: the API server did not process it. `unreached`: the same, after waiting
 * long for a connection. `timedOut`: the response took too long. `lost`: the connection broke, and the API server may
 * have processed it.
 */
export type UpstreamFailure = 'unprocessed' | 'unreached' | 'timedOut' | 'lost'

/** The head of a response did not arrive. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, cause: unknown) {
    super('the API server did not answer', { cause })
    this.failure = failure
  }
}
