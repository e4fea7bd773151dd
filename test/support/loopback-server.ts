// Servers on loopback that stand in for others.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ServerPair } from './certificate-builder.ts'

/** Gets what stops a server: afterAll for a test file, onTestFinished for a test. */
export type StopAfter = (stop: () => void) => void

/** A server that runs. */
export interface LoopbackServer {
  /** Scheme, address and port. */
  readonly origin: string
  readonly port: number
}

/** Starts a server. @param tls null = http */
export async function serveOnLoopback(
  answer: RequestListener,
  stopAfter: StopAfter,
  tls: ServerPair | null = null,
): Promise<LoopbackServer> {
  const server =
    tls === null
      ? createServer(answer)
      : createTlsServer({ cert: tls.certificatePem, key: tls.keyPem }, answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stopAfter(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { origin: `${tls === null ? 'http' : 'https'}://127.0.0.1:${port}`, port }
}
