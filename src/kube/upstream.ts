// Requests that are passed on to the API server as they are: bodies stream both ways, unread.
import type { Readable } from 'node:stream'
import type { Clock } from '../runtime/clock.ts'
import type { Connection } from './connection.ts'
import { Unanswered } from './unanswered.ts'
import { headersToSend } from './upstream-headers.ts'
import { createWire, type Wire } from './upstream-wire.ts'

/** Headers by lower-case name; several values are sent as several headers. */
export type UpstreamHeaders = Readonly<Record<string, string | readonly string[]>>

/** Headers that name somebody else for a request to run as, and an extra: never the one without the other. */
export type Impersonation = UpstreamHeaders & { readonly 'impersonate-user': string }

/** A request as it leaves; the credential of this process is added last. */
export interface UpstreamCall {
  readonly method: string
  /** Path with its query, sent as it is, behind the prefix of the server's URL. */
  readonly path: string
  readonly headers: UpstreamHeaders
  /** null = the request runs as this process itself. */
  readonly impersonation: Impersonation | null
  /** null = none. */
  readonly body: Buffer | Readable | null
  /** Whether the head of the answer may take as long as it likes, as with watches and logs. */
  readonly isLongRunning: boolean
  /** Whether somebody behind the API server answers, whose 401 says nothing of our credential; absent = no. */
  readonly isProxied?: boolean
  /** Ends the exchange at any time, the body of the answer included. */
  readonly signal: AbortSignal
}

/** What the API server answered. */
export interface UpstreamAnswer {
  readonly status: number
  readonly headers: UpstreamHeaders
  /** Fails when the connection does; destroying it ends the exchange. */
  readonly body: Readable
}

/** The way to one API server for requests of others. */
export interface Upstream {
  /**
   * Resolves with the head of the answer, whatever its status; redirects are answers like others.
   *
   * @throws UpstreamUnavailable when there is no answer, or when the API server refuses this process's
   * own credential: that is no word on the caller's
   */
  readonly send: (call: UpstreamCall) => Promise<UpstreamAnswer>
  /** Ends what is under way. */
  readonly close: () => Promise<void>
}

/** There was no answer from the API server for the caller. The message repeats nothing of a request. */
export class UpstreamUnavailable extends Error {
  override readonly name = 'UpstreamUnavailable'
}

/** What an upstream stands on. */
export interface UpstreamOptions {
  /** Stays the caller's to close. */
  readonly connection: Connection
  readonly clock: Clock
  readonly observer: UpstreamObserver
}

/** Told about the calls of an upstream. */
export interface UpstreamObserver {
  /** A call was answered with this code; `<error>` = it was not, and nobody here had ended it. */
  readonly responded: (call: UpstreamCall, code: string) => void
}

/** The way to the API server of a connection: by HTTP/2 where the server speaks it. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const wire = createWire(options.clock)
  const send = async (call: UpstreamCall): Promise<UpstreamAnswer> => {
    const first = await attempt(options, wire, call, false)
    const isRefused = first instanceof Refused
    const repeats = first instanceof Error && mayRepeat(call, first)
    // Also where it comes too late for this request: for those that come next.
    if (isRefused && !repeats) await options.connection.open(true).catch(() => undefined)
    const last = repeats ? await attempt(options, wire, call, isRefused) : first
    if (last instanceof Error) throw new UpstreamUnavailable(last.message, { cause: last })
    return last
  }
  return { send, close: async () => wire.close() }
}

/** The API server does not take this process for what it is. */
class Refused extends Error {
  override readonly name = 'Refused'
}

async function attempt(
  { connection, observer }: UpstreamOptions,
  wire: Wire,
  call: UpstreamCall,
  refused: boolean,
): Promise<UpstreamAnswer | Refused | Unanswered> {
  const open = await connection
    .open(refused)
    .catch((cause: unknown) => new Unanswered('untouched', cause))
  if (open instanceof Unanswered) return open
  const path = `${connection.prefix}${call.path}`
  const headers = headersToSend(call, open.headers)
  try {
    const answer = await wire.send(open, { ...call, path, headers })
    observer.responded(call, String(answer.status))
    if (answer.status !== 401 || call.isProxied === true) return answer
    answer.body.destroy()
    return new Refused('the API server refuses the credential of this process')
  } catch (error) {
    // What was ended here is no failure of the server.
    if (!call.signal.aborted) observer.responded(call, '<error>')
    if (error instanceof Unanswered) return error
    throw error
  }
}

/** Reads: done twice, they do no more than once. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Once more, where the server has done nothing of it, or might as well do it twice. */
function mayRepeat({ method, body, signal }: UpstreamCall, failed: Refused | Unanswered): boolean {
  if (signal.aborted || !isRepeatable(body)) return false
  if (failed instanceof Refused || failed.fate === 'untouched') return true
  return failed.fate === 'lost' && body === null && SAFE.has(method)
}

/** What has been read from a stream is gone. */
const isRepeatable = (body: UpstreamCall['body']): boolean =>
  body === null || Buffer.isBuffer(body) || !(body.readableDidRead || body.destroyed)
