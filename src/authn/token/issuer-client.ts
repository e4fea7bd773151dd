// Reads the three public documents of the issuer (contract 9.2). Bounded in size and time, and it follows no redirect:
// another host must not speak for the issuer.
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { AS_OF_HEADER } from '../../api/names.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { type Clock, withTimeout } from '../../runtime/clock.ts'

const MIB = 1024 * 1024

/** The documents below the issuer, with the bounds of their answers. */
const DOCUMENTS = {
  discovery: { path: '/.well-known/openid-configuration', maxBytes: MIB, withinMs: 5000 },
  keys: { path: '/keys', maxBytes: MIB, withinMs: 5000 },
  revoked: { path: '/revoked', maxBytes: 64 * MIB, withinMs: 30_000 },
} as const

/** A document that the issuer serves. */
export type IssuerDocument = keyof typeof DOCUMENTS

/** All of them. */
export const ISSUER_DOCUMENTS = Object.keys(DOCUMENTS) as readonly IssuerDocument[]

/** The answer to a request for a document. */
export interface IssuerAnswer {
  /** null = unchanged since the answer with the ETag that was sent (304). */
  readonly body: Buffer | null
  /** The Date header in epoch milliseconds; null = absent or malformed. */
  readonly dateMs: number | null
  /** When the answer began, by the monotonic counter. */
  readonly monotonicMs: number
  readonly etag: string | null
  /** The `asOf` of the list in epoch milliseconds, by its header; null = absent or malformed. */
  readonly asOfMs: number | null
}

/** Reads documents of the issuer. */
export interface IssuerClient {
  /**
   * @param etag of an earlier answer that is still valid; null = none
   * @throws Error for any status but 200 and 304, no answer in time, or one that is too large
   */
  readonly get: (document: IssuerDocument, etag: string | null) => Promise<IssuerAnswer>
}

/** Options of an issuer client; its connections close when the signal aborts. */
interface IssuerClientOptions {
  readonly issuer: string
  /** PEM; null = the roots that Node trusts. */
  readonly ca: string | null
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Polls use one connection after the other, so that one replica answers a poll where it can; a look at keys another. */
const MOST_SOCKETS = 2

/** A proxy may cache keys for five minutes, and a withdrawn one must be noticed at the next poll. */
const NOT_FROM_CACHE = { 'cache-control': 'no-cache' }

/** Creates a client that keeps its connections open. */
export function createIssuerClient(options: IssuerClientOptions): IssuerClient {
  const { issuer, ca, clock, signal } = options
  const agent = new Agent({
    keepAlive: true,
    maxSockets: MOST_SOCKETS,
    ...(ca === null ? {} : { ca }),
  })
  signal.addEventListener('abort', () => agent.destroy(), { once: true })

  const attempt = async (
    document: IssuerDocument,
    etag: string | null,
    abort: AbortSignal,
  ): Promise<IssuerAnswer> => {
    const { path, maxBytes } = DOCUMENTS[document]
    const headers = { ...NOT_FROM_CACHE, ...(etag === null ? {} : { 'if-none-match': etag }) }
    const response = await send(
      `${issuer}${path}`,
      agent,
      headers,
      AbortSignal.any([signal, abort]),
    )
    const monotonicMs = clock.monotonicMs()
    const { statusCode: status = 0 } = response
    const isUnchanged = status === 304 && etag !== null
    if (status !== 200 && !isUnchanged) {
      response.destroy()
      throw new Error(`the issuer answered ${status}`)
    }
    const body = await bodyOf(response, maxBytes)
    return {
      body: isUnchanged ? null : body,
      dateMs: timeOf(response.headers.date),
      monotonicMs,
      etag: response.headers.etag ?? null,
      asOfMs: parseTimestamp(response.headers[AS_OF_HEADER]),
    }
  }
  return {
    get: (document, etag) =>
      withTimeout(clock, DOCUMENTS[document].withinMs, async (abort) => {
        try {
          return await attempt(document, etag, abort)
        } catch (error) {
          // The server may close an idle connection at the moment of the next request.
          if (!isStaleConnection(error)) throw error
          return attempt(document, etag, abort)
        }
      }),
  }
}

class StaleConnectionError extends Error {}

const isStaleConnection = (error: unknown): boolean => error instanceof StaleConnectionError

/** Sends a GET. Resolves with the beginning of the answer. */
function send(
  url: string,
  agent: Agent,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      agent,
      signal,
      headers: { accept: 'application/json', ...headers },
    })
    sent.once('response', resolve)
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && error.code === 'ECONNRESET'
      reject(isStale ? new StaleConnectionError('the connection was closed') : error)
    })
    sent.end()
  })
}

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    // Leaving the loop ends the connection.
    if (size > maxBytes) throw new Error(`the issuer's answer has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function timeOf(date: string | undefined): number | null {
  const atMs = Date.parse(date ?? '')
  return Number.isNaN(atMs) ? null : atMs
}
