// The way out for HTTPS requests to servers other than API servers. Every answer is bounded in bytes and time. It uses
// no proxy, and follows no redirect: another host must not answer for the one that was asked.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressGuard } from './address-guard.ts'
import { type Clock, withTimeout } from './clock.ts'

/** Options of a client; its connections close when the signal aborts. */
interface HttpClientOptions {
  /** PEM; null = the roots that Node trusts. */
  readonly ca: string | null
  /** Checks the addresses of servers; null = all are allowed, as for a server that an administrator names in a flag. */
  readonly guard: AddressGuard | null
  /** Maximum number of connections to one server. */
  readonly maxSockets: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A GET. */
interface HttpGet {
  /** An https URL. */
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
interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** null = the status is not one of `statuses`. */
  readonly body: Buffer | null
  /** When the head arrived, by the monotonic counter. */
  readonly monotonicMs: number
}

/** Sends requests. */
export interface HttpClient {
  /** @throws Error without a whole answer in time, for one that is too large, and AddressRefused as `guard` says */
  readonly get: (sent: HttpGet) => Promise<HttpAnswer>
  /** The server may get it twice: when it closed the connection, its answer may have been lost. @throws as `get` does */
  readonly post: (sent: HttpPost) => Promise<HttpAnswer>
}

/** Creates a client that keeps its connections open. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { ca, guard, maxSockets, clock, signal } = options
  const agent = new Agent({
    keepAlive: true,
    maxSockets,
    ...(ca === null ? {} : { ca }),
    ...(guard === null ? {} : { lookup: guard.lookup }),
  })
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

/** A request; a POST where it has a body. */
type HttpExchange = HttpGet | HttpPost

class StaleConnectionError extends Error {}

/** Sends the request. Resolves with the head of the answer. */
function headOf(sent: HttpExchange, agent: Agent, signal: AbortSignal): Promise<IncomingMessage> {
  const { url, headers } = sent
  const body = 'body' in sent ? sent.body : null
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
    if (size > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
