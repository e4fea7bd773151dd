// Forwards requests to an API server, or another HTTPS server. Bodies stream both ways, unread.
//
// - Reads that end soon go by HTTP/1.1 and a client of our own, which takes less CPU than undici, and half of HTTP/2. A read
//   that is lost with its connection is sent again.
// - All others go by HTTP/2 if the server chooses it: many watches share a connection, and a server that ends says which
//   writes it has not processed. It is Node's own client: undici's joins repeated headers, which would turn a caller's
//   groups into one unknown group.
//
// bench/upstream.ts compares them.
import type { Clock } from '../../runtime/clock.ts'
import type { Tls } from '../client/kubeconfig.ts'
import { AccountRefused, unlessAccountRefused } from './account-refusal.ts'
import { exchangeOverHttp1, readOverHttp1 } from './http1.ts'
import { Http2Pool } from './http2-pool.ts'
import { ReadPool } from './reads/read-pool.ts'
import { headersToSend } from './sent-headers.ts'
import {
  type OpenedUpstream,
  type UnavailableOutcome,
  type UpgradeProtocol,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamError,
  type UpstreamServer,
  type UpstreamTunnel,
  UpstreamUnavailable,
} from './types.ts'
import { upgradeOverHttp1 } from './upgrade.ts'

/** Dependencies of an upstream. */
interface UpstreamOptions {
  /** Closed by the caller, not by the upstream. */
  readonly connection: UpstreamServer
  readonly clock: Clock
  readonly observer: UpstreamObserver
}

/** Callbacks for the requests that an upstream sends. */
export interface UpstreamObserver {
  /** A request got this status code; `<error>` = it got no response, although this process had not ended it. */
  readonly responded: (call: UpstreamCall, code: string) => void
}

/** Creates an upstream to a server. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const transport = new Transport(options.clock)
  const send = async <Sent extends UpstreamCall, Result extends UpstreamAnswer | UpstreamTunnel>(
    call: Sent,
    exchange: (open: OpenedUpstream, call: Sent) => Promise<Result>,
  ): Promise<Result> => {
    const first = await attempt(options, exchange, call, false)
    const isRefused = first instanceof CredentialRefused
    const willRepeat = first instanceof Error && mayRepeat(call, first)
    // This request can't be repeated, but the next ones need a new credential.
    if (isRefused && !willRepeat) await options.connection.open(true).catch(() => undefined)
    const last = willRepeat ? await attempt(options, exchange, call, isRefused) : first
    if (last instanceof Error)
      throw new UpstreamUnavailable(outcomeOf(last), last.message, { cause: last })
    return last
  }
  return {
    send: (call) => send(call, (open, sent) => transport.send(open, sent)),
    upgrade: (call) => send(call, (open, sent) => upgradeOverHttp1(open, sent, options.clock)),
    close: async () => transport.close(),
  }
}

/** The API server refused the credential of this process. */
export class CredentialRefused extends Error {
  override readonly name = 'CredentialRefused'
}

function outcomeOf(error: CredentialRefused | AccountRefused | UpstreamError): UnavailableOutcome {
  if (!(error instanceof UpstreamError)) return 'accountRefused'
  const isProcessed = error.failure === 'timedOut' || error.failure === 'lost'
  return isProcessed ? 'unanswered' : 'unprocessed'
}

async function attempt<Sent extends UpstreamCall, Result extends UpstreamAnswer | UpstreamTunnel>(
  { connection, observer }: UpstreamOptions,
  exchange: (open: OpenedUpstream, call: Sent) => Promise<Result>,
  call: Sent,
  refused: boolean,
): Promise<Result | CredentialRefused | AccountRefused | UpstreamError> {
  const open = await connection
    .open(refused)
    .catch((cause: unknown) => new UpstreamError('unprocessed', cause))
  if (open instanceof UpstreamError) return open
  const path = `${connection.prefix}${call.path}`
  const headers = headersToSend(call, open.headers)
  try {
    const answer = await exchange(open, { ...call, path, headers })
    observer.responded(call, String(answer.status))
    if (!('body' in answer) || !couldRefuse(connection, call)) return answer
    if (answer.status === 401 && call.isProxied !== true) {
      answer.body.destroy()
      return new CredentialRefused('the API server refuses the credential of this process')
    }
    return (await unlessAccountRefused(answer, call)) as Result | AccountRefused | UpstreamError
  } catch (error) {
    // A request that this process ended does not count as a failure of the API server.
    if (!call.signal.aborted) observer.responded(call, '<error>')
    if (error instanceof UpstreamError) return error
    throw error
  }
}

/** Whether an answer may be about this process, and not about the caller: it has an account, or impersonates. */
const couldRefuse = (
  { isWithoutAccount }: UpstreamServer,
  { impersonation }: UpstreamCall,
): boolean => impersonation !== null || isWithoutAccount !== true

/** Methods that change nothing, and so are safe to repeat. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether to send the request again: the API server has not processed it, or it changes nothing. */
function mayRepeat(
  { method, body, signal, protocol }: UpstreamCall & { readonly protocol?: UpgradeProtocol },
  error: CredentialRefused | AccountRefused | UpstreamError,
): boolean {
  if (signal.aborted || !isRepeatable(body)) return false
  if (error instanceof AccountRefused) return false
  if (error instanceof CredentialRefused || error.failure === 'unprocessed') return true
  // A session may have run by then, whatever its method.
  const isSafe = SAFE.has(method) && protocol === undefined
  return error.failure === 'lost' && body === null && isSafe
}

/** Whether the body can be sent again, which a stream that was read from can't. */
const isRepeatable = (body: UpstreamCall['body']): boolean =>
  body === null || Buffer.isBuffer(body) || !(body.readableDidRead || body.destroyed)

/** The connections with one client certificate. */
interface Connections {
  readonly tls: Tls
  readonly sessions: Http2Pool
  readonly pool: ReadPool
  speaksHttp1: boolean
  speaksHttp2: boolean
  /** Number of reads by HTTP/1.1. */
  reads: number
}

/** Maximum reads by HTTP/1.1 at a time, each on a connection of its own; further reads share one of HTTP/2. */
const MOST_READS = 64

/** The fault of a server that speaks HTTP/2 only. */
const NO_HTTP1 = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'

const needsHttp2Only = ({ cause }: UpstreamError): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === NO_HTTP1

/** Sends requests with the present client certificate. Requests in flight with a former one finish. */
class Transport {
  readonly #clock: Clock
  #current: Connections | null = null
  #retired: readonly Connections[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws UpstreamError */
  async send(open: OpenedUpstream, call: UpstreamCall): Promise<UpstreamAnswer> {
    const current = this.#connectionsOf(open)
    if (current.speaksHttp1 && current.reads < MOST_READS && isShortRead(call)) {
      const read = await unlessHttp2Only(call, current, this.#clock)
      if (read) return read
    }
    const answer = current.speaksHttp2 ? await current.sessions.send(call) : null
    if (answer) return answer
    current.speaksHttp2 = false
    return exchangeOverHttp1(open.forwards, call, this.#clock, () => undefined)
  }

  /** Ends requests by HTTP/2 and reads. The pool for other requests by HTTP/1.1 belongs to the connection. */
  close(): void {
    for (const { sessions, pool } of [
      ...this.#retired,
      ...(this.#current ? [this.#current] : []),
    ]) {
      sessions.close()
      pool.destroy()
    }
  }

  #connectionsOf({ origin, tls }: OpenedUpstream): Connections {
    const previous = this.#current
    if (previous?.tls === tls) return previous
    previous?.sessions.retire()
    previous?.pool.close()
    const retired = [...this.#retired, ...(previous ? [previous] : [])]
    this.#retired = retired.filter(({ sessions, pool }) => !(sessions.isEmpty && pool.isEmpty))
    const sessions = new Http2Pool({ origin, tls, clock: this.#clock })
    const pool = new ReadPool({ origin, tls, clock: this.#clock })
    const speaksHttp2 = origin.startsWith('https:')
    this.#current = { tls, sessions, pool, speaksHttp1: true, speaksHttp2, reads: 0 }
    return this.#current
  }
}

const isShortRead = ({ method, body, isLongRunning }: UpstreamCall): boolean =>
  body === null && SAFE.has(method) && !isLongRunning

/** null = not sent, as the server does not support HTTP/1.1. @throws UpstreamError */
async function unlessHttp2Only(
  call: UpstreamCall,
  connections: Connections,
  clock: Clock,
): Promise<UpstreamAnswer | null> {
  connections.reads += 1
  try {
    return await readOverHttp1(connections.pool, call, clock, () => {
      connections.reads -= 1
    })
  } catch (error) {
    if (!(error instanceof UpstreamError && needsHttp2Only(error))) throw error
    connections.speaksHttp1 = false
    return null
  }
}
