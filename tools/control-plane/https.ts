import { request } from 'node:https'
import type { CertificatePair } from '../../src/serving/tls/key-pair.ts'

/** The CA to trust, and the client certificate to present. */
export interface Tls {
  readonly caPem: string
  readonly client: CertificatePair
}

/** An answer with its whole body. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/** How long one request may take; every caller asks a server on this machine, and asks again. */
const TIMEOUT_MS = 10_000

/**
 * One request over a connection of its own: GET, or POST with a JSON body.
 *
 * @throws Error when no answer comes
 */
export function ask(url: string, { caPem, client }: Tls, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: body === undefined ? 'GET' : 'POST',
      ca: caPem,
      cert: client.certificatePem,
      key: client.keyPem,
      agent: false,
      timeout: TIMEOUT_MS,
    })
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${url} does not answer`)))
    outgoing.once('error', reject)
    outgoing.once('response', (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
      incoming.once('error', reject)
      incoming.once('end', () => resolve({ status: incoming.statusCode ?? 0, body: text }))
    })
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
