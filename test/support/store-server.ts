// A server of a test in the place of the store of secrets, and clients of it.
import { lookup } from 'node:dns'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { createStoreClient, type StoreClient } from '../../src/delivery/store/client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type ServerPair, serverPair } from './certificate-builder.ts'
import { serveOnLoopback } from './loopback-server.ts'

/** What the server got. */
export interface StoreCall {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** How a path is answered: what the test writes, or a status with JSON or text. */
export type StoreReply =
  | ((response: ServerResponse, request: IncomingMessage) => unknown)
  | { readonly status?: number; readonly body?: unknown }

/** A store that answers 404 to every path that the test does not say, and clients of it. */
export async function startStore(pair: ServerPair | null = serverPair('store')) {
  const calls: StoreCall[] = []
  const replies = new Map<string, StoreReply>()
  const sockets = new Set<object>()
  const { origin, port } = await serveOnLoopback(
    (request, response) => {
      sockets.add(request.socket)
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request
        calls.push({ method, path, headers, body })
        const reply = replies.get(path) ?? { status: 404, body: { errors: [] } }
        if (typeof reply === 'function') reply(response, request)
        else {
          const { status = 200, body: value = '' } = reply
          response.writeHead(status)
          response.end(typeof value === 'string' ? value : JSON.stringify(value))
        }
      })
    },
    onTestFinished,
    pair,
  )
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const client = (options: Partial<Parameters<typeof createStoreClient>[0]> = {}): StoreClient =>
    createStoreClient({
      address: origin,
      namespace: '',
      token: TOKEN,
      skipTLSVerify: false,
      ca: pair?.caPem ?? null,
      mount: 'secret',
      resolve: lookup,
      clock: systemClock(),
      mayWrite: () => undefined,
      signal: stop.signal,
      ...options,
    })
  return { calls, replies, sockets, origin, port, client, stop: () => stop.abort() }
}

/** The token of these clients. */
export const TOKEN = 's.canary-of-the-token'
