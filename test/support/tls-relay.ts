// A relay between a client and an API server that passes TLS through untouched, over HTTP/1.1 and HTTP/2 alike: it lets
// requests pass, keeps answers back from a moment on, and cuts its connections.
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'

/** A listening relay. `await using` closes it at the end of the block. */
export interface TlsRelay extends AsyncDisposable {
  readonly url: string
  /** Keeps back what the server sends, after so many bytes more on each connection. */
  keepAnswersAfter(bytes: number): void
  /**
   * Keeps back what the server sends on a connection once its client has sent so many bytes more: more than a TLS handshake,
   * which passes.
   */
  keepAnswersOf(requestBytes: number): void
  /** The bytes that are kept back now. */
  keptBytes(): number
  /** Refuses new connections, until `pass`. */
  refuse(): void
  /** Cuts all connections, drops the bytes kept back, and passes everything from then on. */
  cutAndPass(): void
  /** Cuts all connections. */
  cut(): void
}

/** One connection through the relay. */
interface Relayed {
  readonly client: Socket
  readonly server: Socket
  /** Bytes of the server that still pass; Infinity = all. */
  left: number
  /** Bytes of the client after which nothing of the server passes; Infinity = never. */
  requestLeft: number
  kept: number
}

/** Starts a relay on a free port of this machine. @param to the URL of the server */
export async function startTlsRelay(to: string): Promise<TlsRelay> {
  const { hostname, port } = new URL(to)
  const open = new Set<Relayed>()
  const unlimited = { left: Number.POSITIVE_INFINITY, requestLeft: Number.POSITIVE_INFINITY }
  let limits = unlimited
  let isRefusing = false
  const listener = createServer((client) => {
    if (isRefusing) {
      client.destroy()
      return
    }
    const relayed = { client, server: connect(Number(port), hostname), ...limits, kept: 0 }
    open.add(relayed)
    join(relayed, () => open.delete(relayed))
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const limit = (next: typeof unlimited): void => {
    limits = next
    for (const relayed of open) Object.assign(relayed, next)
  }
  const cut = (): void => {
    for (const { client } of open) client.destroy()
  }
  return {
    url: `https://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    keepAnswersAfter: (left) => limit({ ...unlimited, left }),
    keepAnswersOf: (requestLeft) => limit({ ...unlimited, requestLeft }),
    keptBytes: () => [...open].reduce((sum, { kept }) => sum + kept, 0),
    refuse() {
      isRefusing = true
    },
    cutAndPass() {
      limit(unlimited)
      isRefusing = false
      cut()
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut()
      listener.close()
      await once(listener, 'close')
    },
  }
}

/** Passes bytes both ways until one side closes. */
function join(relayed: Relayed, closed: () => void): void {
  const { client, server } = relayed
  client.on('data', (bytes: Buffer) => {
    relayed.requestLeft -= bytes.length
    if (relayed.requestLeft <= 0) relayed.left = 0
    server.write(bytes)
  })
  server.on('data', (bytes: Buffer) => {
    const passed = bytes.subarray(0, Math.max(0, relayed.left))
    relayed.left -= passed.length
    relayed.kept += bytes.length - passed.length
    if (passed.length > 0) client.write(passed)
  })
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => undefined)
    one.once('close', () => {
      other.destroy()
      closed()
    })
  }
}
