// A TLS server that keeps every byte that it gets, and passes it on to another server, or to a function that answers.
// It speaks HTTP/1.1 only: HTTP/2 compresses headers, so that no text would be found in them.
import { once } from 'node:events'
import { type RequestListener, createServer as createHttpServer } from 'node:http'
import { type AddressInfo, type Server, type Socket, connect as connectPlain } from 'node:net'
import { connect as connectSecure, createServer } from 'node:tls'
import { serverPair } from './certificate-builder.ts'

/** A listening server. `await using` closes it, and all connections. */
export interface RecordingServer extends AsyncDisposable {
  readonly url: string
  /** The authority of its certificate, PEM. */
  readonly caPem: string
  /** All that it has got so far, one character per byte. */
  readonly received: () => string
}

/** The server behind it. */
interface Behind {
  readonly url: string
  readonly caPem: string
}

const ALPN = ['http/1.1']

/** Starts one before that server. */
export function recordBefore({ url, caPem }: Behind): Promise<RecordingServer> {
  const { hostname: host, port } = new URL(url)
  const behind = { host, port: Number(port), ca: caPem, ALPNProtocols: ALPN }
  return startRecording(
    () => connectSecure(behind),
    async () => undefined,
  )
}

/** Starts one that answers by that function, which may also answer upgrades. */
export async function recordAnswered(answer: RequestListener): Promise<RecordingServer> {
  const server = createHttpServer(answer)
  // Without a listener Node answers an upgrade as any other request.
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return startRecording(
    () => connectPlain(port, '127.0.0.1'),
    async () => {
      server.closeAllConnections()
      await closed(server)
    },
  )
}

async function startRecording(
  open: () => Socket,
  close: () => Promise<unknown>,
): Promise<RecordingServer> {
  const { keyPem: key, certificatePem: cert, caPem } = serverPair('recording')
  const received: string[] = []
  const sockets = new Set<Socket>()
  const options = { key, cert, ALPNProtocols: ALPN, requestCert: true, rejectUnauthorized: false }
  const server = createServer(options, (socket) => {
    const behind = open()
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.once('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
    socket.on('data', (piece: Buffer) => received.push(piece.toString('latin1')))
  })
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem,
    received: () => received.join(''),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await closed(server)
      await close()
    },
  }
}

const closed = (server: Server): Promise<unknown> => new Promise((resolve) => server.close(resolve))
