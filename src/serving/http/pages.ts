// Read-only pages: health and metrics in plain HTTP, and the same pages on the main server.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type BindAddress, closeServer, listen } from '../../runtime/address.ts'
import type { Log } from '../../runtime/log.ts'
import type { Answer } from './answer.ts'
import type { HttpRequest } from './request.ts'

/** An HTTP response. */
interface PageResponse {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** Answers GET requests for one path. */
export type Page = (query: URLSearchParams) => PageResponse | Promise<PageResponse>

/** Answers GET and HEAD requests for one path of the main server, without a credential. */
export type PublicPage = (http: HttpRequest, query: URLSearchParams) => Answer | Promise<Answer>

/** Serves the page on the main server, too. */
export const publicPageOf =
  (page: Page): PublicPage =>
  async (_, query) => {
    const { status, contentType, body } = await page(query)
    const headers = { 'content-type': contentType, 'cache-control': 'no-store' }
    return { status, headers, body: Buffer.from(body) }
  }

/** A server that listens. */
interface HttpServer {
  readonly port: number
  /** Closes idle connections at once, others after a second. */
  close(): Promise<void>
}

const CLOSE_WITHIN_MS = 1000
/** Probes and scrapes stay far within these limits. */
const LIMITS = { headersTimeout: 5000, requestTimeout: 10_000, maxHeaderSize: 8192 }
const MOST_CONNECTIONS = 64

/** A plain text response; adds the line break at its end. */
export const plainText = (status: number, body: string): PageResponse => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: `${body}\n`,
})

/**
 * Serves a few read-only pages in plain HTTP: metrics and health.
 *
 * @throws Error that names the address when it can't be bound
 */
export async function servePages(
  address: BindAddress,
  pages: Readonly<Record<string, Page>>,
  log: Log,
): Promise<HttpServer> {
  const server = createServer(LIMITS, (request, response) => {
    void answerTo(request, pages)
      .catch((err: unknown) => {
        log.error({ err }, 'metrics or health page failed')
        return plainText(500, 'internal error, see the log')
      })
      .then((answer) => send(response, answer, server.listening))
  })
  server.maxConnections = MOST_CONNECTIONS
  const port = await listen(server, address)
  return { port, close: () => closeServer(server, CLOSE_WITHIN_MS) }
}

/** While the server closes, each response ends its connection. */
function send(response: ServerResponse, answer: PageResponse, keepAlive: boolean): void {
  response.writeHead(answer.status, {
    'content-type': answer.contentType,
    'content-length': Buffer.byteLength(answer.body),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...(answer.status === 405 ? { allow: 'GET, HEAD' } : {}),
    ...(keepAlive ? {} : { connection: 'close' }),
  })
  response.end(answer.body)
}

async function answerTo(
  { method = '', url = '' }: IncomingMessage,
  pages: Readonly<Record<string, Page>>,
): Promise<PageResponse> {
  const [path = '', query = ''] = url.split('?', 2)
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined
  if (!page) return plainText(404, `not found, try ${Object.keys(pages).join(', ')}`)
  if (method !== 'GET' && method !== 'HEAD') return plainText(405, 'only GET and HEAD')
  return page(new URLSearchParams(query))
}

/** Checks one part of the process. @returns why it fails, in a few words on one line; null = it passes */
export type HealthCheck = () => string | null

/**
 * A page of checks by name in the format of Kubernetes' components: `ok`, or a line for each check with
 * `?verbose` and whenever one fails (contract 8.2).
 *
 * @param name `healthz` or `readyz`, for the last line
 */
export function healthPage(name: string, checks: Readonly<Record<string, HealthCheck>>): Page {
  return (query) => {
    const results = Object.entries(checks).map(([check, run]) => [check, run()] as const)
    const lines = results.map(([check, reason]) =>
      reason === null ? `[+]${check} ok` : `[-]${check} failed: ${reason}`,
    )
    const passed = results.every(([, reason]) => reason === null)
    if (!passed) return plainText(500, [...lines, `${name} check failed`].join('\n'))
    if (!query.has('verbose')) return plainText(200, 'ok')
    return plainText(200, [...lines, `${name} check passed`].join('\n'))
  }
}
