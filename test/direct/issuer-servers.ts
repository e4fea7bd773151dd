// HTTPS servers in the role of the issuer: one answers with a given revocation list, one proxies the gateway
// with another max-age.
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { afterAll } from 'vitest'
import { serverPair } from '../support/certificate-builder.ts'

/** An answer to GET /oidc/revoked. */
export interface ListAnswer {
  readonly code: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** `asOf` of the revocation lists in these tests. */
export const AS_OF = '2026-11-21T10:00:00Z'

/** The content of a revocation list (contract 7.4). */
export interface ServedList {
  readonly asOf: string
  readonly tokens: Readonly<Record<string, string>>
}

/** A revocation list as the issuer serves it (contract 7.4): `exp` as text by token id. */
export function revocationList(
  tokens: Readonly<Record<string, string>>,
  asOf: string = AS_OF,
): ListAnswer {
  return { code: 200, body: JSON.stringify({ asOf, tokens }) }
}

/** The list as if it was completed now: one of a gateway is some seconds older. */
export const completeNow = ({ tokens }: ServedList): ListAnswer =>
  revocationList(tokens, new Date().toISOString())

/** Serves whatever `answer` returns as the revocation list, 404 elsewhere. Closed after the last test. */
export async function startListServer(
  answer: () => ListAnswer,
): Promise<{ readonly issuer: string; readonly caPem: string }> {
  // Not for localhost: a test connects by that name and must get a certificate error.
  const { keyPem, certificatePem, caPem } = serverPair('list', { hosts: ['127.0.0.1'] })
  const server = createServer({ key: keyPem, cert: certificatePem }, ({ url }, response) => {
    const { code, headers, body } = answer()
    if (url === '/oidc/revoked') response.writeHead(code, headers).end(body)
    else response.writeHead(404).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  afterAll(() => server.close())
  const { port } = server.address() as AddressInfo
  return { issuer: `https://127.0.0.1:${port}/oidc`, caPem }
}

/** The URL of an issuer and how to trust it. */
export interface IssuerEndpoint {
  readonly issuer: string
  /** The CA of its serving certificate; PEM. */
  readonly caPem: string
}

/** A proxy in front of the gateway. */
export interface CachingProxy extends IssuerEndpoint {
  /** Sets the upstream, which requests wait for; while it is down, every answer is 502. */
  setUpstream(endpoint: IssuerEndpoint): void
  /** While it is away, connections end without an answer. */
  setAway(isAway: boolean): void
  /** Replaces the revocation list of the upstream; null = no longer. */
  setList(replaced: ((list: ServedList) => ListAnswer) | null): void
}

/** Starts a proxy that sends `max-age` on every answer. Closed after the last test. */
export async function startCachingProxy(maxAgeSeconds: number): Promise<CachingProxy> {
  const { keyPem, certificatePem, caPem } = serverPair('proxy')
  const upstream = Promise.withResolvers<{ readonly origin: string; readonly dispatcher: Agent }>()
  let dispatcherToClose: Agent | null = null
  let isAway = false
  let replaced: ((list: ServedList) => ListAnswer) | null = null
  const forward = async (path: string) => {
    const { origin, dispatcher } = await upstream.promise
    const { statusCode, body } = await request(`${origin}${path}`, { dispatcher })
    const text = await body.text()
    if (replaced === null || path !== '/oidc/revoked') return { statusCode, text }
    const answer = replaced(JSON.parse(text) as ServedList)
    return { statusCode: answer.code, text: answer.body }
  }
  const server = createServer({ key: keyPem, cert: certificatePem }, (incoming, response) => {
    const { url = '', socket } = incoming
    const headers = {
      'content-type': 'application/json',
      'cache-control': `max-age=${maxAgeSeconds}`,
    }
    if (isAway) socket.destroy()
    else
      forward(url).then(
        ({ statusCode, text }) => response.writeHead(statusCode, headers).end(text),
        () => response.writeHead(502).end(),
      )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  afterAll(async () => {
    server.close()
    await dispatcherToClose?.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    issuer: `https://127.0.0.1:${port}/oidc`,
    caPem,
    setUpstream: (endpoint) => {
      const dispatcher = new Agent({ connect: { ca: endpoint.caPem } })
      dispatcherToClose = dispatcher
      upstream.resolve({ origin: new URL(endpoint.issuer).origin, dispatcher })
    },
    setAway: (value) => {
      isAway = value
    },
    setList: (value) => {
      replaced = value
    },
  }
}
