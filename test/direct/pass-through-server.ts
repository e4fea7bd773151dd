// What may stand between verifiers and the gateway: a server that passes everything on, and lets
// answers be kept for another time than the gateway says.
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { afterAll } from 'vitest'
import { serverPair } from '../support/certificate-builder.ts'

/** Where an issuer is served. */
export interface Served {
  readonly issuer: string
  /** Who signed the certificate there; PEM. */
  readonly caPem: string
}

/** A front of an issuer. */
export interface PassThroughServer extends Served {
  /** Whom it asks from now on; it answers 502 before, and while they are away. */
  passTo(behind: Served): void
}

/** Starts a front that lets verifiers keep answers for so long. Closed after the last test. */
export async function startPassThroughServer(maxAgeSeconds: number): Promise<PassThroughServer> {
  const { keyPem, certificatePem, caPem } = serverPair('front')
  let upstream: { readonly origin: string; readonly dispatcher: Agent } | null = null
  const passed = async (path: string) => {
    if (upstream === null) throw new Error('there is no gateway')
    const { origin, dispatcher } = upstream
    const { statusCode, body } = await request(`${origin}${path}`, { dispatcher })
    return { statusCode, text: await body.text() }
  }
  const server = createServer({ key: keyPem, cert: certificatePem }, ({ url = '' }, response) => {
    const headers = {
      'content-type': 'application/json',
      'cache-control': `max-age=${maxAgeSeconds}`,
    }
    passed(url).then(
      ({ statusCode, text }) => response.writeHead(statusCode, headers).end(text),
      () => response.writeHead(502).end(),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  afterAll(async () => {
    server.close()
    await upstream?.dispatcher.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    issuer: `https://127.0.0.1:${port}/oidc`,
    caPem,
    passTo: (behind) => {
      const dispatcher = new Agent({ connect: { ca: behind.caPem } })
      upstream = { origin: new URL(behind.issuer).origin, dispatcher }
    },
  }
}
