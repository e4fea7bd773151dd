// The HTTPS server: TLS, limits, and one handler for every request.
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Cidr } from '../../domain/ip-address.ts'
import { type BindAddress, closeServer, listen } from '../../runtime/address.ts'
import {
  ASK_FOR_CERTIFICATES,
  type SecureContext,
  secureContext,
} from '../tls/client-certificates.ts'
import type { Answer, BufferedAnswer } from './answer.ts'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  type LatestResponse,
  limitConnections,
} from './connection-limits.ts'
import { deliver } from './deliver.ts'
import type { ClosedBy } from './delivery.ts'
import { answerMalformedRequests, HOSTLESS_RESPONSE, LONGEST_HEAD } from './malformed-requests.ts'
import { type HttpRequest, ReceivedRequest } from './request.ts'
import { type TunnelAnswer, openTunnel } from './tunnel.ts'

/** Answers requests of any method and target, upgrades and CONNECT included. Never rejects. */
export type RequestHandler = (call: HttpRequest) => Promise<Answer>

/** The functions that answer every request of a server. */
export interface ServerHandler {
  readonly respond: RequestHandler
  /** The answer to a request that the server itself refuses, with what must be called at its end. */
  readonly refused: (call: HttpRequest, refusal: BufferedAnswer) => Answer
}

/** An HTTPS server. It does not listen before `listen` is called. */
export interface GatewayServer extends Pick<SecureContext, 'show' | 'trust'> {
  /**
   * Starts to listen, and answers requests by the handler.
   *
   * @returns the port
   * @throws Error that names the address when it can't be bound
   */
  readonly listen: (address: BindAddress, handler: ServerHandler) => Promise<number>
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
interface ServerOptions {
  readonly limits?: ConnectionLimits
  /** Proxies whose `X-Forwarded-For` names the client; absent = none. */
  readonly trustedProxies?: readonly Cidr[]
  /** Whether clients are asked for a certificate; absent = they are not. Clients without one may connect all the same. */
  readonly asksForCertificates?: boolean
}

/** Creates the server, which does not listen yet. */
export function createHttpServer(
  observer: ServerObserver,
  {
    limits = CONNECTION_LIMITS,
    trustedProxies = [],
    asksForCertificates = false,
  }: ServerOptions = {},
): GatewayServer {
  const server = createServer({ ...LIMITS, ...(asksForCertificates ? ASK_FOR_CERTIFICATES : {}) })
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_CONNECTION
  const { show, trust, certificateOf } = secureContext(server, asksForCertificates)
  let isCut = false
  return {
    show,
    trust,
    listen: (address, handler) => {
      answerAll(server, {
        handler,
        observer,
        limits,
        trustedProxies,
        certificateOf,
        isCut: () => isCut,
      })
      return listen(server, address)
    },
    close: () =>
      closeServer(server, CLOSE_WITHIN_MS, () => {
        isCut = true
      }),
  }
}

interface AnswerOptions {
  readonly handler: ServerHandler
  readonly observer: ServerObserver
  readonly limits: ConnectionLimits
  readonly trustedProxies: readonly Cidr[]
  readonly certificateOf: SecureContext['certificateOf']
  /** Whether the server has closed all its connections, to end. */
  readonly isCut: () => boolean
}

/** Answers by one function, whichever event Node emits for a request. */
function answerAll(
  server: Server,
  { handler, observer, limits, trustedProxies, certificateOf, isCut }: AnswerOptions,
): void {
  const responses = new OpenResponses()
  const latest: LatestResponse = (socket) => responses.latest(socket)
  answerMalformedRequests(server, latest)
  const { stalledMs } = limits
  const connections = limitConnections(server, { limits, latest, dropped: observer.dropped })
  const answer: AnswerRequest = (request, response, by, head) => {
    // Read now: Node removes the socket from a request that is destroyed.
    const socket = request.socket as TLSSocket
    responses.add(socket, response)
    connections.requested(socket)
    const isEnding = (): boolean => !server.listening || connections.isCrowdedFor(socket)
    const closedBy: ClosedBy = () => {
      if (isCut()) return 'shutdown'
      return connections.hasStalled(socket) ? 'clientStalled' : 'clientGone'
    }
    const id = randomUUID()
    const call = new ReceivedRequest({
      id,
      request,
      response,
      by,
      trustedProxies,
      certificateOf,
      connections,
    })
    const answering = isHostless(request)
      ? Promise.resolve(handler.refused(call, HOSTLESS_RESPONSE))
      : handler.respond(call)
    answering
      .then((given) =>
        isTunnel(given)
          ? openTunnel({ id, socket, head, response, stalledMs, closedBy }, given)
          : deliver(response, given, { id, socket, isEnding, closedBy }),
      )
      .catch((error: unknown) => {
        observer.unsent(error)
        socket.destroy()
      })
  }
  const responseOn: ResponseOn = (request, socket) =>
    closingResponse(request, socket, { stalledMs, stalled: connections.closeStalled })
  listenForRequests(server, answer, { responses, responseOn })
}

/** Answers one request. @param head what the client has sent after the head of an upgrade */
type AnswerRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  by: HttpRequest['by'],
  head: Buffer,
) => void

/** Creates the response on a bare socket. */
type ResponseOn = (request: IncomingMessage, socket: TLSSocket) => ServerResponse

/** Calls `answer` for each request. */
function listenForRequests(
  server: Server,
  answer: AnswerRequest,
  { responses, responseOn }: { readonly responses: OpenResponses; readonly responseOn: ResponseOn },
): void {
  // Node emits these events instead of `request`: requests would bypass the handler if a listener were missing.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => answer(request, response, 'request', NO_BYTES))
  }
  for (const event of ['upgrade', 'connect'] as const) {
    server.on(event, (request: IncomingMessage, socket: TLSSocket, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      // Node no longer ends the requests before it with their connection.
      socket.once('close', () => responses.destroyAll(socket))
      whenClosed(responses.latest(socket), () => {
        if (!socket.destroyed) answer(request, responseOn(request, socket), event, head)
      })
    })
  }
}

/** The responses of connections. A client may send requests before it has read the responses to former ones. */
class OpenResponses {
  readonly #latest = new WeakMap<Duplex, ServerResponse>()
  /** The response before another one on its connection, while both are open. */
  readonly #before = new WeakMap<ServerResponse, ServerResponse>()

  add(socket: Duplex, response: ServerResponse): void {
    const before = this.#latest.get(socket)
    if (before !== undefined && !before.closed) {
      this.#before.set(response, before)
      before.once('close', () => this.#before.delete(response))
    }
    this.#latest.set(socket, response)
  }

  /** undefined = there was no request. */
  latest(socket: Duplex): ServerResponse | undefined {
    return this.#latest.get(socket)
  }

  /** Destroys those that are not closed yet. */
  destroyAll(socket: Duplex): void {
    let response = this.#latest.get(socket)
    while (response !== undefined) {
      response.destroy()
      response = this.#before.get(response)
    }
  }
}

const NO_BYTES = Buffer.alloc(0)

const isTunnel = (answer: Answer): answer is TunnelAnswer =>
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
  {
    stalledMs,
    stalled,
  }: Pick<ConnectionLimits, 'stalledMs'> & { stalled: (at: TLSSocket) => void },
): ServerResponse {
  const response = new ServerResponse(request)
  // While there is no answer yet, its client has nothing to read.
  socket.setTimeout(stalledMs, () => response.headersSent && stalled(socket))
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  return response
}
