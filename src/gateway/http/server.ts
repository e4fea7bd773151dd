// The sockets of the gateway: TLS, limits, and the one function that answers whatever comes in.
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { BindAddress } from '../../runtime/address.ts'
import type { CertificatePair } from '../../runtime/certificate.ts'
import { closed, listening } from '../../runtime/listen.ts'
import type { Answer } from './answer.ts'

/** A request as far as it decides the answer. */
export interface Call {
  readonly method: string
  /** The request-target as it was sent: nothing is decoded or cleaned. */
  readonly target: string
  readonly headers: IncomingMessage['headers']
}

/** Answers any request: of any method, to any target, upgrades and CONNECT included. Never rejects. */
export type Respond = (call: Call) => Promise<Answer>

/** The gateway's server. It listens once it is told to. */
export interface GatewayServer {
  /** Shows this certificate from now on; connections that are open keep theirs. */
  readonly show: (pair: CertificatePair) => void
  /**
   * Answers by `respond` from now on.
   *
   * @returns the port
   * @throws Error that names the address when it can't be bound
   */
  readonly listen: (address: BindAddress, respond: Respond) => Promise<number>
  /** Takes no more connections, ends idle ones at once and others after a while. */
  readonly close: () => Promise<void>
}

const CLOSE_WITHIN_MS = 2000
/** Slow clients hold nothing but their socket, and not for long; all times in milliseconds. */
const LIMITS = {
  handshakeTimeout: 10_000,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5000,
  keepAliveTimeout: 75_000,
  maxHeaderSize: 16_384,
}
/** A client that takes nothing of its answer for so long is cut off. */
const STALLED_AFTER_MS = 30_000
const MOST_CONNECTIONS = 8192
/** After so many requests a connection is opened anew, so that replicas that came later get some. */
const MOST_REQUESTS_EACH = 10_000

const ALWAYS: OutgoingHttpHeaders = { 'x-content-type-options': 'nosniff' }

/** Creates the server, with its limits. */
export function createGatewayServer(): GatewayServer {
  const server = createServer(LIMITS)
  server.maxConnections = MOST_CONNECTIONS
  server.maxRequestsPerSocket = MOST_REQUESTS_EACH
  server.timeout = STALLED_AFTER_MS
  return {
    show: ({ certificatePem: cert, keyPem: key }) => server.setSecureContext({ cert, key }),
    listen: (address, respond) => {
      answerAll(server, respond)
      return listening(server, address)
    },
    close: () => closed(server, CLOSE_WITHIN_MS),
  }
}

/** One function answers, whichever of its events Node chooses for a request. */
function answerAll(server: Server, respond: Respond): void {
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = '', url: target = '', headers } = request
    void respond({ method, target, headers }).then((given) =>
      send(response, given, server.listening),
    )
  }
  // Node takes each of these away from `request`, and a listener that is missing is a way past it (A8).
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, answer)
  for (const event of ['upgrade', 'connect']) {
    server.on(event, (request: IncomingMessage, socket: Duplex) =>
      answer(request, lastResponse(request, socket as TLSSocket)),
    )
  }
}

/** Once the server closes, an answer ends its connection. */
function send(response: ServerResponse, answer: Answer, keepAlive: boolean): void {
  response.writeHead(answer.status, {
    ...ALWAYS,
    ...answer.headers,
    // That of a 304 would be the length of what the client has.
    ...(answer.status === 304 ? {} : { 'content-length': answer.body.length }),
    ...(keepAlive ? {} : { connection: 'close' }),
  })
  response.end(answer.body)
}

/** A response on a socket that Node has given up to us: the last thing said there. */
function lastResponse(request: IncomingMessage, socket: TLSSocket): ServerResponse {
  socket.on('error', () => socket.destroy())
  socket.setTimeout(STALLED_AFTER_MS, () => socket.destroy())
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  return response
}
