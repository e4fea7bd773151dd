// The HTTPS server: TLS, limits, and one handler for every request.
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { type BindAddress, closeServer, listen } from '../../runtime/address.ts'
import {
  ASK_FOR_CERTIFICATES,
  type SecureContext,
  secureContext,
} from '../tls/client-certificates.ts'
import type { Answer } from './answer.ts'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  type LatestResponse,
  limitConnections,
} from './connection-limits.ts'
import { deliver } from './deliver.ts'
import { answerMalformedRequests, HOSTLESS_RESPONSE, LONGEST_HEAD } from './malformed-requests.ts'
import { type HttpRequest, ReceivedRequest } from './request.ts'
import { openTunnel } from './tunnel.ts'

/** Answers requests of any method and target, upgrades and CONNECT included. Never rejects. */
export type RequestHandler = (call: HttpRequest) => Promise<Answer>

/** An HTTPS server. It does not listen before `listen` is called. */
export interface GatewayServer extends Pick<SecureContext, 'show' | 'trust'> {
  /**
   * Starts to listen, and answers requests by `respond`.
   *
   * @returns the port
   * @throws Error that names the address when it can't be bound
   */
  readonly listen: (address: BindAddress, respond: RequestHandler) => Promise<number>
  /** Accepts no more connections; closes idle ones at once and others after two seconds. */
  readonly close: () => Promise<void>
}

const CLOSE_WITHIN_MS = 2000
/** Limits for slow clients, which hold nothing but their socket. Times in milliseconds. */
const LIMITS = {
  handshakeTimeout: 10_000,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5000,
  maxHeaderSize: LONGEST_HEAD,
  // A request without Host gets a Status object, in place of Node's bare status line.
  requireHostHeader: false,
}
/** A connection closes after this number of requests, so that new replicas get clients as well. */
const MAX_REQUESTS_PER_CONNECTION = 10_000

/** Callbacks for faults of connections. */
export interface ServerObserver {
  /** Called when a connection is refused, because the most allowed are open. */
  readonly dropped: () => void
  /** Called when a response could not be sent; its connection is closed. */
  readonly unsent: (error: unknown) => void
}

/** Options of createHttpServer. */
export interface ServerOptions {
  readonly limits?: ConnectionLimits
  /** Whether clients are asked for a certificate; absent = they are not. Clients without one may connect all the same. */
  readonly asksForCertificates?: boolean
}

/** Creates the server, which does not listen yet. */
export function createHttpServer(
  observer: ServerObserver,
  { limits = CONNECTION_LIMITS, asksForCertificates = false }: ServerOptions = {},
): GatewayServer {
  const server = createServer({ ...LIMITS, ...(asksForCertificates ? ASK_FOR_CERTIFICATES : {}) })
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_CONNECTION
  const { show, trust, certificateOf } = secureContext(server, asksForCertificates)
  return {
    show,
    trust,
    listen: (address, respond) => {
      answerAll(server, { respond, observer, limits, certificateOf })
      return listen(server, address)
    },
    close: () => closeServer(server, CLOSE_WITHIN_MS),
  }
}

interface AnswerOptions {
  readonly respond: RequestHandler
  readonly observer: ServerObserver
  readonly limits: ConnectionLimits
  readonly certificateOf: SecureContext['certificateOf']
}

/** Answers by one function, whichever event Node emits for a request. */
function answerAll(
  server: Server,
  { respond, observer, limits, certificateOf }: AnswerOptions,
): void {
  const responses = new WeakMap<Duplex, ServerResponse>()
  const latest: LatestResponse = (socket) => responses.get(socket)
  answerMalformedRequests(server, latest)
  const { dropped } = observer
  const { stalledMs } = limits
  const connections = limitConnections(server, { limits, latest, dropped })
  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    by: HttpRequest['by'],
    head: Buffer = NO_BYTES,
  ): void => {
    // Read now: Node removes the socket from a request that is destroyed.
    const { socket } = request
    responses.set(socket, response)
    connections.requested(socket)
    const isEnding = (): boolean => !server.listening || connections.isCrowdedFor(socket)
    const id = randomUUID()
    const parts = { id, request, response, by, certificateOf, connections }
    const call = new ReceivedRequest(parts)
    const answering = isHostless(request) ? Promise.resolve(HOSTLESS_RESPONSE) : respond(call)
    answering
      .then((given) => {
        const identified = withId(given, id)
        return isTunnel(identified)
          ? openTunnel({ socket: socket as TLSSocket, head, response, stalledMs }, identified)
          : deliver(response, identified, { socket, isEnding })
      })
      .catch((error: unknown) => {
        observer.unsent(error)
        socket.destroy()
      })
  }
  // Node emits these events instead of `request`: requests would bypass the handler if a listener were missing.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => answer(request, response, 'request'))
  }
  for (const event of ['upgrade', 'connect'] as const) {
    server.on(event, (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      whenClosed(latest(socket), () => {
        if (socket.destroyed) return
        const response = closingResponse(request, socket as TLSSocket, limits.stalledMs)
        answer(request, response, event, head)
      })
    })
  }
}

/** The response with the ID of its request, which replaces that of an upstream. */
const withId = (answer: Answer, id: string): Answer => ({
  ...answer,
  headers: { ...answer.headers, 'audit-id': id, 'x-request-id': id },
})

const NO_BYTES = Buffer.alloc(0)

const isTunnel = (
  answer: Answer,
): answer is Answer & { readonly body: Readable; readonly tunnel: Writable } =>
  answer.tunnel !== undefined && !Buffer.isBuffer(answer.body)

const isHostless = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === '1.1' && headers.host === undefined

/** Calls back once the response to an earlier request on the socket is complete. */
function whenClosed(before: ServerResponse | undefined, act: () => void): void {
  if (before === undefined || before.closed) act()
  else before.once('close', act)
}

/** A response on the bare socket of an `upgrade` or `connect`; it closes the socket. */
function closingResponse(
  request: IncomingMessage,
  socket: TLSSocket,
  stalledMs: number,
): ServerResponse {
  const response = new ServerResponse(request)
  // While there is no answer yet, its client has nothing to read.
  socket.setTimeout(stalledMs, () => response.headersSent && socket.destroy())
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  return response
}
