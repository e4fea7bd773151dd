// A gateway with a stand-in for the sign-in process: a real HTTPS server that a test answers for.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type TLSSocket, createServer as createTls } from 'node:tls'
import { onTestFinished } from 'vitest'
import { accessLog } from '../../../../src/gateway/access-log.ts'
import { answerMetrics } from '../../../../src/gateway/answer-metrics.ts'
import { ERRORS } from '../../../../src/gateway/errors.ts'
import type { GatewayHandlerOptions } from '../../../../src/gateway/handler.ts'
import { SignInUpstream } from '../../../../src/gateway/signin/upstream.ts'
import { type Clock, systemClock } from '../../../../src/runtime/clock.ts'
import { refuse } from '../../../../src/serving/http/answer.ts'
import { type ServerPair, serverPair } from '../../../support/certificate-builder.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { CALLER, serverHandlerFor } from '../handler-builder.ts'
import { answersIn, served } from '../listening-server.ts'

export const PAIR = serverPair('sign-in')

/** The token of the gateway. */
export const TOKEN = 'token-of-the-gateway'

type Respond = (request: IncomingMessage, response: ServerResponse) => void

/** A request as the sign-in process has got it. */
interface Received {
  readonly start: string
  /** Names in lower case and values in turn, as they came. */
  readonly headers: readonly (readonly [string, string])[]
  /** What has arrived of the body, and whether it is all. */
  body: string
  isWhole: boolean
}

/** A sign-in process. */
interface StandIn {
  readonly origin: string
  readonly received: readonly Received[]
  readonly sockets: ReadonlySet<Socket>
  /** Serves by another certificate from the next connection on. */
  readonly show: (pair: ServerPair) => void
}

/** Answers 200 with the body `page`. */
export const PAGE: Respond = (_, response) => void response.end('page')

/** Answers once the body has arrived. */
export const afterBody =
  (respond: Respond): Respond =>
  (request, response) =>
    void request.once('end', () => respond(request, response))

/** Starts a sign-in process that answers in this way. */
export async function startStandIn(respond: Respond): Promise<StandIn> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const server = createHttps({ key: PAIR.keyPem, cert: PAIR.certificatePem })
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => undefined)
  })
  server.on('tlsClientError', () => undefined)
  server.on('request', (request, response) => {
    received.push(receivedOf(request))
    respond(request, response)
  })
  return { ...(await listening(server, sockets)), received, sockets, show: showOn(server) }
}

const showOn =
  (server: ReturnType<typeof createHttps>) =>
  ({ keyPem: key, certificatePem: cert }: ServerPair): void =>
    server.setSecureContext({ key, cert })

function receivedOf(request: IncomingMessage): Received {
  const { rawHeaders } = request
  const names = rawHeaders.filter((_, at) => at % 2 === 0)
  const headers = names.map(
    (name, at) => [name.toLowerCase(), rawHeaders[2 * at + 1] ?? ''] as const,
  )
  const one = { start: `${request.method} ${request.url}`, headers, body: '', isWhole: false }
  request.on('data', (piece: Buffer) => {
    one.body += piece.toString('latin1')
  })
  request.once('end', () => {
    one.isWhole = true
  })
  request.on('error', () => undefined)
  return one
}

/** Starts one that answers each connection by these bytes, once a request has come. */
export async function startBytes(bytes: string): Promise<Pick<StandIn, 'origin' | 'sockets'>> {
  const sockets = new Set<Socket>()
  const server = createTls({ key: PAIR.keyPem, cert: PAIR.certificatePem }, (socket: TLSSocket) => {
    sockets.add(socket)
    socket.once('data', () => socket.write(Buffer.from(bytes, 'latin1')))
    socket.on('error', () => undefined)
  })
  return { ...(await listening(server, sockets)), sockets }
}

async function listening(
  server: ReturnType<typeof createTls> | ReturnType<typeof createHttps>,
  sockets: ReadonlySet<Socket>,
): Promise<{ readonly origin: string }> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { origin: `https://localhost:${(server.address() as AddressInfo).port}` }
}

/** What differs from a gateway whose sign-in process answers. */
interface GatewayParts extends Partial<Pick<GatewayHandlerOptions, 'audit' | 'signIn'>> {
  readonly authority?: ConstructorParameters<typeof SignInUpstream>[0]['authority']
  readonly token?: () => string | null
  readonly clock?: Clock
}

/** A listening gateway that passes requests on to that server, and knows no key. */
export async function gatewayTo({ origin }: Pick<StandIn, 'origin'>, parts: GatewayParts = {}) {
  const { log, lines } = memoryLog()
  const counted: string[] = []
  const warned: unknown[] = []
  const clock = parts.clock ?? systemClock()
  const process = new SignInUpstream({
    origin,
    authority: parts.authority ?? {
      current: async () => PAIR.caPem,
      again: async () => PAIR.caPem,
    },
    token: parts.token ?? (() => TOKEN),
    clock,
    warn: (_, { because }) => void warned.push(because),
    limited: () => void counted.push('limited'),
  })
  onTestFinished(() => process.close())
  const handler = serverHandlerFor(
    CALLER,
    () => Promise.reject(new Error('nothing is forwarded')),
    {
      authenticate: async () => ({
        ok: false,
        answer: refuse(ERRORS.keyNotFound),
        refusal: { because: 'unknown', key: null },
      }),
      observers: [
        answerMetrics(
          (target, verb, code) => void counted.push(`${target} ${verb} ${code}`),
          clock,
        ),
        accessLog(log, clock),
      ],
      log,
      signIn: process,
      ...parts,
    },
  )
  const server = await served(handler)
  /** The answer to one request on a connection that closes after it. */
  const ask = async (start: string, headers: readonly string[] = [], body = '') => {
    const lineEnds = [`${start} HTTP/1.1`, 'Host: p.example.com', 'Connection: close', ...headers]
    const text = await server.say(`${lineEnds.join('\r\n')}\r\n\r\n${body}`)
    const [answer] = answersIn(text)
    return { code: answer?.code, headers: answer?.headers ?? {}, body: answer?.body ?? '', text }
  }
  return { ...server, ask, lines, counted, warned }
}
