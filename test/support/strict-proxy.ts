// A proxy between a gateway and the API server as the standards want it: what a header named Connection
// names goes no further. It notes the headers of what it passes on, and takes requests that are spelt wrong.
import type { IncomingMessage } from 'node:http'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { serverPair } from './certificate-builder.ts'

/** A proxy that listens. `await using` closes it where the block ends. */
export interface StrictProxy extends AsyncDisposable {
  readonly url: string
  readonly caPem: string
  /** Names of the headers of a request, in lower case, by its User-Agent. */
  headersOf(userAgent: string): readonly string[]
}

const OF_ONE_CONNECTION = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]

/** A path that ends so is answered with a redirect. */
const ELSEWHERE = '/elsewhere'

/** Starts a proxy to a server, on a free port of this machine; `elsewhere` is where its redirects lead. */
export async function startStrictProxy(upstream: {
  readonly url: string
  readonly ca: string
  readonly elsewhere: string
}): Promise<StrictProxy> {
  const { certificatePem: cert, keyPem: key, caPem } = serverPair('localhost')
  const seen = new Map<string, readonly string[]>()
  const { hostname, port } = new URL(upstream.url)
  const note = ({ headers, rawHeaders }: IncomingMessage): readonly string[] => {
    const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
    seen.set(headers['user-agent'] ?? '', names)
    return names
  }
  const server = createServer({ cert, key, insecureHTTPParser: true }, (incoming, outgoing) => {
    const passOn = async (): Promise<void> => {
      const { method, url: path, headers, rawHeaders } = incoming
      const names = note(incoming)
      if (path?.endsWith(ELSEWHERE)) {
        outgoing.writeHead(302, { location: upstream.elsewhere }).end()
        return
      }
      const nominated = (headers.connection ?? '')
        .toLowerCase()
        .split(',')
        .map((name) => name.trim())
      const stays = new Set([...OF_ONE_CONNECTION, 'content-length', ...nominated])
      const passed = rawHeaders.filter((_, at) => !stays.has(names[at >> 1] ?? ''))
      const body = await buffer(incoming)
      const options = { hostname, port, ca: upstream.ca, method, path, agent: false as const }
      const onward = request({
        ...options,
        headers: [...passed, 'Content-Length', String(body.length)],
      })
      onward.once('error', () => outgoing.destroy())
      outgoing.once('close', () => onward.destroy())
      onward.once('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      onward.end(body)
    }
    passOn().catch(() => outgoing.destroy())
  })
  server.on('upgrade', (incoming, socket, head) => {
    note(incoming)
    const { url: target = '', rawHeaders: passed } = incoming
    tunnel(incoming, { socket, head }, { ...upstream, target, headers: passed })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem,
    headersOf: (userAgent) => seen.get(userAgent) ?? [],
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

// What becomes of an upgrade where no one looks at it: bytes, both ways, for as long as either end has some.

/** Sends the request on with these headers, names and values in turn, and then whatever comes from either end. */
export function tunnel(
  incoming: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
  onward: {
    readonly url: string
    readonly ca: string
    readonly target: string
    readonly headers: readonly string[]
  },
): void {
  const { hostname: host, port } = new URL(onward.url)
  const { target, headers, ca } = onward
  const other = connect({ host, port: Number(port), ca })
  const fields = headers.flatMap((name, at) =>
    at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : [],
  )
  other.write([`${incoming.method} ${target} HTTP/1.1`, ...fields, '', ''].join('\r\n'), 'latin1')
  other.write(head)
  pipeline(socket, other, () => undefined)
  pipeline(other, socket, () => undefined)
}
