// The server at a port of 127.0.0.1 that waits for the code of one sign-in (contract 25.2).
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ExpectedCallback, MOST_BODY_BYTES, callbackVerdict } from './callback.ts'

/** A port that is taken, until it is disposed of. */
interface Loopback extends Disposable {
  readonly port: number
  /** The code. @throws Error after too many requests with a wrong state */
  readonly code: Promise<string>
}

/** Requests with a wrong state until the sign-in is given up. */
const MOST_GUESSES = 10
const MOST_CONNECTIONS = 16
const REQUEST_WITHIN_MS = 10_000

/** Takes a port. It listens before a browser learns of it, so that no other program can have it. */
export async function startLoopback(expected: Omit<ExpectedCallback, 'port'>): Promise<Loopback> {
  const { promise: code, resolve, reject } = Promise.withResolvers<string>()
  // A paste may have ended the sign-in, and then nothing waits for the code.
  code.catch(() => undefined)
  let guesses = 0
  let isOver = false
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const verdict = callbackVerdict(await callbackOf(request), { ...expected, port })
    if (isOver) return send(response, 400, REFUSED_PAGE)
    if (verdict.kind === 'code') {
      isOver = true
      send(response, 200, DONE_PAGE, () => resolve(verdict.code))
      return
    }
    send(response, verdict.kind === 'guess' ? 403 : verdict.status, REFUSED_PAGE)
    if (verdict.kind !== 'guess') return
    guesses += 1
    isOver = guesses === MOST_GUESSES
    if (isOver) reject(new Error(`${MOST_GUESSES} requests with a wrong state came to its port`))
  }
  const server = createServer(BOUNDS, (request, response) => {
    // A client that leaves in the middle of its body has sent nothing.
    answer(request, response).catch(() => response.destroy())
  })
  server.maxConnections = MOST_CONNECTIONS
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    code,
    [Symbol.dispose]: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const BOUNDS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: REQUEST_WITHIN_MS,
  requestTimeout: REQUEST_WITHIN_MS,
  connectionsCheckingInterval: 1000,
}

async function callbackOf(request: IncomingMessage) {
  const { method = '', url: target = '', headers } = request
  const { host = '', origin = null, 'content-type': contentType = '' } = headers
  return { method, target, host, origin, contentType, body: await bodyOf(request) }
}

/** The body; null = it is too large, and the rest is not read. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = chunk as Buffer
    size += bytes.length
    if (size > MOST_BODY_BYTES) return null
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function send(response: ServerResponse, status: number, page: string, sent?: () => void): void {
  // Also when the browser has left: the code is here.
  response.once('close', () => sent?.())
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
    ...(status === 405 ? { allow: 'POST' } : {}),
  })
  response.end(page)
}

const pageOf = (text: string): string => `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Signing in</title><p>${text}</p></html>
`

const DONE_PAGE = pageOf('The terminal goes on. You can close this window.')
const REFUSED_PAGE = pageOf('The terminal waits for another request. Start again there.')
