// A TLS server with one fixed answer: the fastest that this machine can serve, as a floor for measurements. It runs
// in a process of its own, which executes this file too.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { serverPair } from '../../support/certificate-builder.ts'

/** The answer to every request. */
interface FixedAnswer {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

interface ServerOptions extends FixedAnswer {
  readonly keyPem: string
  readonly certificatePem: string
}

/** Where a server listens, and the CA that signed its certificate (PEM). */
export interface Target {
  readonly url: string
  readonly ca: string
}

/** The argument that makes this file serve. */
const CHILD = 'serve-fixed-answer'

/** Starts the server; `stop` ends its process. */
export async function startBareServer(
  answer: FixedAnswer,
): Promise<Target & { readonly stop: () => void }> {
  const { caPem, ...pair } = serverPair('bare')
  const child = fork(import.meta.filename, [CHILD], { execArgv: [] })
  child.send({ ...pair, ...answer } satisfies ServerOptions)
  const [port] = await once(child, 'message')
  return {
    url: `https://127.0.0.1:${String(port)}`,
    ca: caPem,
    stop: () => void child.kill(),
  }
}

if (process.argv[2] === CHILD) {
  process.once('message', ({ keyPem, certificatePem, body, headers }: ServerOptions) => {
    const pair = { key: keyPem, cert: certificatePem }
    const server = createServer(pair, (_, response) => response.writeHead(200, headers).end(body))
    server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  })
  process.once('disconnect', () => process.exit())
}
