// A gateway as somebody might write it: who calls is kept where the next request finds it, too. So that it is
// known that tests find such a thing out (threats A12).
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority, issueServing } from '../../tools/control-plane/certificates.ts'

/** Where it serves. `await using` closes it where the block ends. */
export interface ForgetfulGateway extends AsyncDisposable {
  readonly url: string
  readonly ca: string
}

/** Starts one that passes everything on to a server, with the credential of whoever came last. */
export async function startForgetfulGateway(upstream: {
  readonly url: string
  readonly ca: string
}): Promise<ForgetfulGateway> {
  const authority = createAuthority('forgetful')
  const { certificatePem: cert, keyPem: key } = issueServing(authority, ['127.0.0.1'])
  const agent = new Agent({ keepAlive: true, ca: upstream.ca })
  let authorization = ''
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    authorization = incoming.headers.authorization ?? ''
    setImmediate(() => {
      const { method = '', url } = incoming
      const headers = { ...incoming.headers, authorization }
      const sent = request(`${upstream.url}${url}`, { method, agent, headers })
      sent.once('error', () => outgoing.destroy())
      sent.once('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.once('error', () => outgoing.destroy())
        answer.pipe(outgoing)
      })
      outgoing.once('close', () => sent.destroy())
      incoming.once('error', () => sent.destroy())
      incoming.pipe(sent)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.certificatePem,
    [Symbol.asyncDispose]: async () => {
      agent.destroy()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
