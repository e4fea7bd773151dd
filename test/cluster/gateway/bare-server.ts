// A server in a process of its own that does nothing but TLS and one answer: what a machine can do at most. It
// is started by bare.ts, which tells it what to serve, and ends with that process.
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

/** What it serves, whatever it is asked. */
export interface BareAnswer {
  readonly keyPem: string
  readonly certificatePem: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

process.once('message', ({ keyPem, certificatePem, body, headers }: BareAnswer) => {
  const pair = { key: keyPem, cert: certificatePem }
  const server = createServer(pair, (_, response) => response.writeHead(200, headers).end(body))
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
})
process.once('disconnect', () => process.exit())
