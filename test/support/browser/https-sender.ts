// Sends what a browser asks for over the network, with names that only a test resolves.
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import type { BrowserAnswer, BrowserRequest } from './browser.ts'

/** Where an origin is really served. */
interface ServedAt {
  readonly host?: string
  readonly port: number
  /** PEM of the authority; absent = the system's. */
  readonly ca?: string
}

const ANSWER_WITHIN_MS = 30_000

/** A sender to these servers by origin; any other origin is asked at its own address. */
export const senderTo =
  (servers: Readonly<Record<string, ServedAt>>) =>
  async ({ method, url, headers, body }: BrowserRequest): Promise<BrowserAnswer> => {
    const { host, port, ca } = servers[url.origin] ?? {}
    const request = url.protocol === 'https:' ? tlsRequest : plainRequest
    const sent = request({
      host: port === undefined ? url.hostname : (host ?? '127.0.0.1'),
      port: port ?? url.port,
      ...(ca === undefined ? {} : { ca }),
      // Certificates of tests are for the address of the server.
      ...(port === undefined ? {} : { servername: 'localhost' }),
      path: url.pathname + url.search,
      method,
      headers: { host: url.host, ...headers },
      agent: false,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject)
      sent.end(body)
    })
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }
  }
