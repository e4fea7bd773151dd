// A gateway's server on a free port, and clients that send any bytes to it.
import { once } from 'node:events'
import { type ConnectionOptions, type TLSSocket, connect as connectTls } from 'node:tls'
import { onTestFinished } from 'vitest'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
} from '../../../src/serving/http/connection-limits.ts'
import {
  type GatewayServer,
  type RequestHandler,
  type ServerHandler,
  createHttpServer,
} from '../../../src/serving/http/server.ts'
import { serverPair } from '../../support/certificate-builder.ts'

const PAIR = serverPair('localhost')

/** A server that listens until the test is finished. */
export interface Served {
  readonly server: GatewayServer
  readonly port: number
  /** The events of its observer, in their order. */
  readonly observed: readonly unknown[]
  /** A connection after its TLS handshake. */
  readonly connect: (options?: ConnectionOptions) => Promise<TLSSocket>
  /** Sends these bytes on a new connection; resolves with all bytes until it closes. */
  readonly say: (text: string) => Promise<string>
}

/** The event of a rejected connection. */
export const DROPPED = 'dropped'

/** Starts a server that answers by this handler, or by its function alone. */
export async function served(
  handler: RequestHandler | ServerHandler,
  limits: Partial<ConnectionLimits> = {},
  certificates: Pick<
    NonNullable<Parameters<typeof createHttpServer>[1]>,
    'asksForCertificates'
  > = {},
): Promise<Served> {
  const observed: unknown[] = []
  const server = createHttpServer(
    { dropped: () => observed.push(DROPPED), unsent: (error) => observed.push(error) },
    { ...certificates, limits: { ...CONNECTION_LIMITS, ...limits } },
  )
  server.show(PAIR)
  const answers: ServerHandler =
    typeof handler === 'function' ? { respond: handler, refused: (_, refusal) => refusal } : handler
  const port = await server.listen({ host: '127.0.0.1', port: 0 }, answers)
  const sockets: TLSSocket[] = []
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await server.close()
  })
  const connect: Served['connect'] = async (options = {}) => {
    const socket = connectTls({ host: '127.0.0.1', port, ca: PAIR.caPem, ...options })
    sockets.push(socket)
    await once(socket, 'secureConnect')
    return socket
  }
  const say = async (text: string): Promise<string> => {
    const socket = await connect()
    const parts: Buffer[] = []
    socket.on('data', (part: Buffer) => parts.push(part))
    // A server may reset the connection after its response.
    socket.on('error', () => undefined)
    socket.write(text)
    await once(socket, 'close')
    return Buffer.concat(parts).toString()
  }
  return { server, port, observed, connect, say }
}

/** One parsed response. */
export interface RawAnswer {
  readonly code: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Parses the responses of one connection. */
export function answersIn(text: string): readonly RawAnswer[] {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return []
  const [status = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
  const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0)
  const body = text.slice(end + 4, bodyEnd)
  return [{ code: Number(status.split(' ')[1]), headers, body }, ...answersIn(text.slice(bodyEnd))]
}
