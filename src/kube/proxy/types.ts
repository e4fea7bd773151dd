// Forwards requests to the API server: bodies stream both ways, unread.
import type { Readable } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import type { Connection } from '../client/connection.ts'
import { headersToSend } from './headers.ts'
import { type UpstreamTransport, createTransport } from './transport.ts'

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

/** What the API server answered. */
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

/** What an upstream needs. */
export interface UpstreamOptions {
  /** The caller closes it. */
  readonly connection: Connection
  readonly clock: Clock
  readonly observer: UpstreamObserver
}

/** Called for the calls of an upstream. */
export interface UpstreamObserver {
  /** A call got this code; `<error>` = it got no answer, and we had not ended it. */
  readonly responded: (call: UpstreamCall, code: string) => void
}

/** An upstream to the API server of a connection: by HTTP/2 where the server speaks it. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const wire = createTransport(options.clock)
  const send = async (call: UpstreamCall): Promise<UpstreamAnswer> => {
    const first = await attempt(options, wire, call, false)
    const isRefused = first instanceof Refused
    const repeats = first instanceof Error && mayRepeat(call, first)
    // Too late for this request, but the next ones need it.
    if (isRefused && !repeats) await options.connection.open(true).catch(() => undefined)
    const last = repeats ? await attempt(options, wire, call, isRefused) : first
    if (last instanceof Error) throw new UpstreamUnavailable(last.message, { cause: last })
    return last
  }
  return { send, close: async () => wire.close() }
}

/** The API server refused the credential of this process. */
class Refused extends Error {
  override readonly name = 'Refused'
}

async function attempt(
  { connection, observer }: UpstreamOptions,
  wire: UpstreamTransport,
  call: UpstreamCall,
  refused: boolean,
): Promise<UpstreamAnswer | Refused | UpstreamError> {
  const open = await connection
    .open(refused)
    .catch((cause: unknown) => new UpstreamError('untouched', cause))
  if (open instanceof UpstreamError) return open
  const path = `${connection.prefix}${call.path}`
  const headers = headersToSend(call, open.headers)
  try {
    const answer = await wire.send(open, { ...call, path, headers })
    observer.responded(call, String(answer.status))
    if (answer.status !== 401 || call.isProxied === true) return answer
    answer.body.destroy()
    return new Refused('the API server refuses the credential of this process')
  } catch (error) {
    // A request that we ended is no failure of the server.
    if (!call.signal.aborted) observer.responded(call, '<error>')
    if (error instanceof UpstreamError) return error
    throw error
  }
}

/** Methods that change nothing: safe to repeat. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether to try again: the server has not acted on it, or a second time does no harm. */
function mayRepeat(
  { method, body, signal }: UpstreamCall,
  failed: Refused | UpstreamError,
): boolean {
  if (signal.aborted || !isRepeatable(body)) return false
  if (failed instanceof Refused || failed.fate === 'untouched') return true
  return failed.fate === 'lost' && body === null && SAFE.has(method)
}

/** Whether the body can be sent again: a stream that was read can't. */
const isRepeatable = (body: UpstreamCall['body']): boolean =>
  body === null || Buffer.isBuffer(body) || !(body.readableDidRead || body.destroyed)

/** The API server bounds requests that are not long-running to a minute. */
export const HEAD_WITHIN_MS = 60_000

/**
 * What is known of a request without an answer. `untouched`: the server did not act on it. `late`: it took
 * too long. `lost`: unknown.
 */
export type UpstreamFailure = 'untouched' | 'late' | 'lost'

/** A request got no head of an answer. */
export class UpstreamError extends Error {
  override readonly name = 'Unanswered'
  readonly fate: UpstreamFailure

  constructor(fate: UpstreamFailure, cause: unknown) {
    super('the API server did not answer', { cause })
    this.fate = fate
  }
}
