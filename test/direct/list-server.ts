import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'
import { serverPair } from '../support/certificate-builder.ts'

/** An answer to a request for the list. */
export interface ListAnswer {
  readonly code: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** When the lists of these tests were made. */
export const AS_OF = '2026-11-21T10:00:00Z'

/** A list of tokens and their ends, as an issuer answers it (contract 7.4). */
export function revokedTokens(tokens: Readonly<Record<string, string>>): ListAnswer {
  return { code: 200, body: JSON.stringify({ asOf: AS_OF, tokens }) }
}

/** A server with nothing but a list, whatever that holds: an issuer that may be out of its mind. */
export async function listServer(
  answer: () => ListAnswer,
): Promise<{ readonly issuer: string; readonly caPem: string }> {
  // Not for localhost: a test asks for that name in vain.
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
