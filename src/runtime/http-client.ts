// The way out for HTTP requests to servers other than API servers. Every answer is bounded in bytes and time. It uses
// no proxy, and follows no redirect: another host must not answer for the one that was asked.
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as requestPlain,
} from 'node:http'
import { Agent as TlsAgent, request as requestTls } from 'node:https'
import type { AddressGuard } from './address-guard.ts'
import { type Clock, withTimeout } from './clock.ts'

/**
 * How a server proves who it is: by a certificate of these roots (PEM; null = the roots that Node trusts), by any
 * certificate, or by none, as its URLs begin with http.
 */
export type ServerTrust = { readonly ca: string | null } | 'unverified' | 'plain'

/** Options of a client; its connections close when the signal aborts. */
interface HttpClientOptions {
  readonly trust: ServerTrust
  /** Checks the addresses of servers; null = all are allowed, as for a server that an administrator names in a flag. */
  readonly guard: AddressGuard | null
  /**
   * Maximum number of connections to one server, which are kept open; null = each request has its own, so that none is
   * sent twice.
   */
  readonly maxSockets: number | null
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A GET. */
interface HttpGet {
  /** An https URL; with trust `plain`, an http URL. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The statuses whose bodies are read. */
  readonly statuses: readonly number[]
  /** Largest body, in bytes. */
  readonly maxBytes: number
  /** Time until the whole answer has arrived, in milliseconds. */
  readonly withinMs: number
}

/** A POST. */
interface HttpPost extends HttpGet {
  readonly body: Buffer
}

/** An answer. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** null = the status is not one of `statuses`. */
  readonly body: Buffer | null
  /** When the head arrived, by the monotonic counter. */
  readonly monotonicMs: number
}

/** An answer has more bytes than its bound. */
export class AnswerTooLarge extends Error {}

/** Sends requests. */
export interface HttpClient {
  /** @throws Error without a whole answer in time, AnswerTooLarge, and AddressRefused as `guard` says */
  readonly get: (sent: HttpGet) => Promise<HttpAnswer>
  /** The server may get it twice: when it closed the connection, its answer may have been lost. @throws as `get` does */
  readonly post: (sent: HttpPost) => Promise<HttpAnswer>
}

/** Creates a client. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { guard, clock, signal } = options
  const agent = agentOf(options)
  signal.addEventListener('abort', () => agent.destroy(), { once: true })

  const attempt = async (sent: HttpExchange, timeout: AbortSignal): Promise<HttpAnswer> => {
    guard?.checkHost(new URL(sent.url).hostname)
    const response = await headOf(sent, agent, AbortSignal.any([signal, timeout]))
    const monotonicMs = clock.monotonicMs()
    const { statusCode: status = 0, headers } = response
    if (sent.statuses.includes(status))
      return { status, headers, body: await bodyOf(response, sent.maxBytes), monotonicMs }
    response.destroy()
    return { status, headers, body: null, monotonicMs }
  }
  const exchange = (sent: HttpExchange): Promise<HttpAnswer> =>
    withTimeout(clock, sent.withinMs, async (timeout) => {
      try {
        return await attempt(sent, timeout)
      } catch (error) {
        // The server may close an idle connection at the moment of the next request.
        if (!(error instanceof StaleConnectionError)) throw error
        return attempt(sent, timeout)
      }
    })
  return { get: exchange, post: exchange }
}

function agentOf({ trust, guard, maxSockets }: HttpClientOptions): PlainAgent | TlsAgent {
  const settings = {
    ...(maxSockets === null ? { keepAlive: false } : { keepAlive: true, maxSockets }),
    ...(guard === null ? {} : { lookup: guard.lookup }),
  }
  if (trust === 'plain') return new PlainAgent(settings)
  if (trust === 'unverified') return new TlsAgent({ ...settings, rejectUnauthorized: false })
  return new TlsAgent({ ...settings, ...(trust.ca === null ? {} : { ca: trust.ca }) })
}

/** A request; a POST where it has a body. */
type HttpExchange = HttpGet | HttpPost

class StaleConnectionError extends Error {}

/** Sends the request. Resolves with the head of the answer. */
function headOf(
  sent: HttpExchange,
  agent: PlainAgent | TlsAgent,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { url, headers } = sent
  const body = 'body' in sent ? sent.body : null
  const request = agent instanceof TlsAgent ? requestTls : requestPlain
  return new Promise((resolve, reject) => {
    const method = body === null ? 'GET' : 'POST'
    const asked = request(url, { agent, signal, headers, method })
    asked.once('response', resolve)
    asked.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = asked.reusedSocket && CLOSED.has(error.code)
      reject(isStale ? new StaleConnectionError('the connection was closed') : error)
    })
    if (body === null) asked.end()
    else asked.end(body)
  })
}

/** Codes for a connection that the server has closed; EPIPE where a body was being written. */
const CLOSED: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE'])

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    // Leaving the loop ends the connection.
    if (size > maxBytes) throw new AnswerTooLarge(`the answer has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
