// Forwards requests to an API server: by HTTP/2 where the server chooses it, else by HTTP/1.1. Bodies stream
// both ways, unread. HTTP/2 leaves no doubt about framing, and many watches share a connection. It is Node's
// own: undici's joins repeated headers, which would make one unknown group of a caller's groups.
// bench/upstream.ts compares them.
import type { Clock } from '../../runtime/clock.ts'
import type { Connection, OpenConnection } from '../client/connection.ts'
import type { Tls } from '../client/kubeconfig.ts'
import { exchangeOverHttp1 } from './http1.ts'
import { Http2Pool } from './http2-pool.ts'
import {
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamError,
  type UpstreamHeaders,
  UpstreamUnavailable,
} from './types.ts'

/** Dependencies of an upstream. */
interface UpstreamOptions {
  /** The caller closes it. */
  readonly connection: Connection
  readonly clock: Clock
  readonly observer: UpstreamObserver
}

/** Called for each request that an upstream sends. */
export interface UpstreamObserver {
  /** A call got this code; `<error>` = it got no answer, and we had not ended it. */
  readonly responded: (call: UpstreamCall, code: string) => void
}

/** An upstream to the API server of a connection. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const transport = new Transport(options.clock)
  const send = async (call: UpstreamCall): Promise<UpstreamAnswer> => {
    const first = await attempt(options, transport, call, false)
    const isRefused = first instanceof CredentialRefused
    const repeats = first instanceof Error && mayRepeat(call, first)
    // Too late for this request, but the next ones need it.
    if (isRefused && !repeats) await options.connection.open(true).catch(() => undefined)
    const last = repeats ? await attempt(options, transport, call, isRefused) : first
    if (last instanceof Error) throw new UpstreamUnavailable(last.message, { cause: last })
    return last
  }
  return { send, close: async () => transport.close() }
}

/** The API server refused the credential of this process. */
class CredentialRefused extends Error {
  override readonly name = 'CredentialRefused'
}

async function attempt(
  { connection, observer }: UpstreamOptions,
  transport: Transport,
  call: UpstreamCall,
  refused: boolean,
): Promise<UpstreamAnswer | CredentialRefused | UpstreamError> {
  const open = await connection
    .open(refused)
    .catch((cause: unknown) => new UpstreamError('unprocessed', cause))
  if (open instanceof UpstreamError) return open
  const path = `${connection.prefix}${call.path}`
  const headers = headersToSend(call, open.headers)
  try {
    const answer = await transport.send(open, { ...call, path, headers })
    observer.responded(call, String(answer.status))
    if (answer.status !== 401 || call.isProxied === true) return answer
    answer.body.destroy()
    return new CredentialRefused('the API server refuses the credential of this process')
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
  error: CredentialRefused | UpstreamError,
): boolean {
  if (signal.aborted || !isRepeatable(body)) return false
  if (error instanceof CredentialRefused || error.failure === 'unprocessed') return true
  return error.failure === 'lost' && body === null && SAFE.has(method)
}

/** Whether the body can be sent again: a stream that was read can't. */
const isRepeatable = (body: UpstreamCall['body']): boolean =>
  body === null || Buffer.isBuffer(body) || !(body.readableDidRead || body.destroyed)

/** The connections with one client certificate. */
interface Connections {
  readonly tls: Tls
  readonly sessions: Http2Pool
  speaksHttp2: boolean
}

/** Sends requests with the present certificate; those in flight with a former one finish. */
class Transport {
  readonly #clock: Clock
  #current: Connections | null = null
  #former: readonly Http2Pool[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws UpstreamError */
  async send(open: OpenConnection, call: UpstreamCall): Promise<UpstreamAnswer> {
    const current = this.#connectionsOf(open)
    const answer = current.speaksHttp2 ? await current.sessions.send(call) : null
    if (answer) return answer
    current.speaksHttp2 = false
    return exchangeOverHttp1(open.forwards, call)
  }

  /** Ends requests by HTTP/2; the connection owns the pools of HTTP/1.1. */
  close(): void {
    for (const sessions of this.#former) sessions.close()
    this.#current?.sessions.close()
  }

  #connectionsOf({ origin, tls }: OpenConnection): Connections {
    const before = this.#current
    if (before?.tls === tls) return before
    before?.sessions.retire()
    const former = [...this.#former, ...(before ? [before.sessions] : [])]
    this.#former = former.filter(({ isEmpty }) => !isEmpty)
    const sessions = new Http2Pool({ origin, tls, clock: this.#clock })
    this.#current = { tls, sessions, speaksHttp2: origin.startsWith('https:') }
    return this.#current
  }
}

// The headers of a forwarded request: refuses those that it must not carry, and adds ours last.

/** Headers of one connection or of a body's framing (RFC 9110, 7.6.1); HTTP/2 has none of them. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/

/** Whether a server might impersonate by this header, or a proxy before it that turns `_` into `-`. */
const isImpersonation = (name: string): boolean =>
  name.replaceAll('_', '-').startsWith('impersonate-')

const isForbidden = (name: string): boolean =>
  !TOKEN.test(name) || HOP_BY_HOP.has(name) || name === 'authorization' || isImpersonation(name)

/**
 * The headers to send: the call's, then impersonation, then the credential of this process.
 *
 * The last check before the API server. Callers have checked all this; a mistake there must not let a request
 * run as this process.
 *
 * @param credential headers of the connection, in any case of letters
 * @throws Error that names the header
 */
export function headersToSend(
  { headers, impersonation }: Pick<UpstreamCall, 'headers' | 'impersonation'>,
  credential: Readonly<Record<string, string>>,
): UpstreamHeaders {
  const forbidden = Object.keys(headers).find(isForbidden)
  if (forbidden !== undefined) throw new Error(`header ${forbidden} must not be passed on`)
  const own = Object.fromEntries(
    Object.entries(credential).map(([name, value]) => [name.toLowerCase(), value]),
  )
  if (impersonation === null) return { ...headers, ...own }
  checkImpersonation(impersonation)
  if (Object.keys(own).some(isImpersonation))
    throw new Error('the kubeconfig impersonates a user: requests of others can not run by it')
  return { ...headers, ...impersonation, ...own }
}

/** Without a user the request would run as this process. The extra proves that the caller meant a user. */
function checkImpersonation(impersonation: UpstreamHeaders): void {
  const names = Object.keys(impersonation)
  const user = impersonation['impersonate-user']
  const isNamed = typeof user === 'string' && /^[!-~]+$/.test(user)
  const hasExtra = names.some((name) => name.startsWith('impersonate-extra-'))
  if (!isNamed || !hasExtra || !names.every(isImpersonation))
    throw new Error('an impersonation names a user and an extra, and nothing else')
}
