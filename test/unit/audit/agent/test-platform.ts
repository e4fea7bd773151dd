// A platform that agents send events to: an HTTPS server whose answers a test decides.
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { eventPageOf } from '../../../../src/domain/audit/event-list.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { auditIDsOf } from '../../../support/audit-store-events.ts'

/** A request, whole. */
export interface PlatformRequest {
  readonly method: string
  readonly url: string
  readonly authorization: string
  readonly contentType: string
  readonly body: string
}

/** Answers a request, or leaves it without an answer. */
export type PlatformAnswer = (request: PlatformRequest, response: ServerResponse) => unknown

/** Answers with this status. */
export const status =
  (code: number): PlatformAnswer =>
  (_, response) =>
    response.writeHead(code, { 'content-type': 'application/json' }).end('{"kind":"Status"}')

/** A platform that listens until the test ends. */
export class TestPlatform {
  readonly requests: PlatformRequest[] = []
  /** The auditIDs of each batch of events, also of those that were refused. */
  readonly batches: (readonly string[])[] = []
  readonly url: string
  readonly ca: string
  #answer: PlatformAnswer
  readonly #cut: () => void

  private constructor(url: string, ca: string, answer: PlatformAnswer, cut: () => void) {
    this.url = url
    this.ca = ca
    this.#answer = answer
    this.#cut = cut
  }

  static async start(answer: PlatformAnswer = status(200)): Promise<TestPlatform> {
    const pair = serverPair('platform')
    const server = createServer({ cert: pair.certificatePem, key: pair.keyPem })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const cut = (): void => server.closeAllConnections()
    const platform = new TestPlatform(url, pair.caPem, answer, cut)
    server.on('request', (request, response) => void platform.#take(request, response))
    return platform
  }

  set answer(answer: PlatformAnswer) {
    this.#answer = answer
  }

  /** Cuts all connections. */
  cut(): void {
    this.#cut()
  }

  async #take(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
    const request = {
      method: message.method ?? '',
      url: message.url ?? '',
      authorization: message.headers.authorization ?? '',
      contentType: message.headers['content-type'] ?? '',
      body: Buffer.concat(chunks).toString(),
    }
    this.requests.push(request)
    if (request.method === 'POST')
      this.batches.push(auditIDsOf(eventPageOf(request.body)?.events ?? []))
    this.#answer(request, response)
  }
}
