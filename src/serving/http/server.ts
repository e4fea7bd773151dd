// The HTTPS server: TLS, limits, and one function that answers every request.
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import { type Duplex, Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { type BindAddress, closeServer, listen } from '../../runtime/address.ts'
import type { CertificatePair } from '../tls/key-pair.ts'
import type { Answer } from './answer.ts'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  type Latest,
  limitConnections,
} from './connection-limits.ts'
import { awaitsContinue, deliver } from './deliver.ts'
import { HOSTLESS, LONGEST_HEAD, answerBroken } from './malformed-requests.ts'

/** A request as it came in. */
export interface HttpRequest {
  /** A UUID of this server, in every answer as `Audit-ID` and `X-Request-Id`; never one that a client sent. */
  readonly id: string
  readonly method: string
  /** The request-target as it was sent: nothing is decoded or cleaned. */
  readonly target: string
  readonly headers: IncomingMessage['headers']
  /** Names and values by turns, as they were sent: what `headers` merged or dropped is here. */
  readonly rawHeaders: readonly string[]
  /** Which of Node's events it came by: an `upgrade` or `connect` leaves a bare socket. */
  readonly by: 'request' | 'upgrade' | 'connect'
  /** The body as it comes in; empty at once where there is none. */
  readonly body: Readable
  /** Address of the other end of the connection; empty when it is gone already. */
  readonly remoteAddress: string
  /** Aborts when the client is gone before the answer is complete. */
  readonly gone: AbortSignal
  /** Aborts when nothing more of the answer is held here: the client has taken it, or is gone. */
  readonly ended: AbortSignal
  /** Bytes of the answer that the client has not taken yet; what it has not been given does not count. */
  readonly unsent: () => number
}

/** Answers any request: of any method, to any target, upgrades and CONNECT included. Never rejects. */
export type RequestHandler = (call: HttpRequest) => Promise<Answer>

/** An HTTPS server; it listens from `listen` on. */
export interface GatewayServer {
  /** Shows this certificate from now on; connections that are open keep theirs. */
  readonly show: (pair: CertificatePair) => void
  /**
   * Answers by `respond` from now on.
   *
   * @returns the port
   * @throws Error that names the address when it can't be bound
   */
  readonly listen: (address: BindAddress, respond: RequestHandler) => Promise<number>
  /** Takes no more connections, ends idle ones at once and others after a while. */
  readonly close: () => Promise<void>
}

const CLOSE_WITHIN_MS = 2000
/** Slow clients hold nothing but their socket, and not for long; all times in milliseconds. */
const LIMITS = {
  handshakeTimeout: 10_000,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5000,
  maxHeaderSize: LONGEST_HEAD,
  // A request without Host gets a Status object, in place of Node's bare line.
  requireHostHeader: false,
}
/** After so many requests a connection ends, so that later replicas get clients, too. */
const MOST_REQUESTS_EACH = 10_000

/** Called for faults of connections. */
export interface ServerObserver {
  /** A connection was turned away: all places are taken. */
  readonly dropped: () => void
  /** An answer could not be sent as it is; its connection has been ended. */
  readonly unsent: (error: unknown) => void
}

/** Creates the server, with its limits. */
export function createHttpServer(
  observer: ServerObserver,
  limits: ConnectionLimits = CONNECTION_LIMITS,
): GatewayServer {
  const server = createServer(LIMITS)
  server.maxRequestsPerSocket = MOST_REQUESTS_EACH
  return {
    show: ({ certificatePem: cert, keyPem: key }) => server.setSecureContext({ cert, key }),
    listen: (address, respond) => {
      answerAll(server, { respond, observer, limits })
      return listen(server, address)
    },
    close: () => closeServer(server, CLOSE_WITHIN_MS),
  }
}

interface AnswerOptions {
  readonly respond: RequestHandler
  readonly observer: ServerObserver
  readonly limits: ConnectionLimits
}

/** One function answers, whichever of its events Node chooses for a request. */
function answerAll(server: Server, { respond, observer, limits }: AnswerOptions): void {
  const responses = new WeakMap<Duplex, ServerResponse>()
  const latest: Latest = (socket) => responses.get(socket)
  answerBroken(server, latest)
  const { dropped } = observer
  const isCrowded = limitConnections(server, { limits, latest, dropped })
  const isEnding = (): boolean => !server.listening || isCrowded()
  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    by: HttpRequest['by'],
  ): void => {
    // Of a request that is destroyed meanwhile Node forgets the socket.
    const { socket } = request
    responses.set(socket, response)
    const id = randomUUID()
    const call = callOf(id, request, response, by)
    const answering = isHostless(request) ? Promise.resolve(HOSTLESS) : respond(call)
    answering
      .then((given) => deliver(response, withId(given, id), { socket, isEnding }))
      .catch((error: unknown) => {
        observer.unsent(error)
        socket.destroy()
      })
  }
  // Node takes each of these away from `request`, and a listener that is missing is a way past it (A8).
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => answer(request, response, 'request'))
  }
  for (const event of ['upgrade', 'connect'] as const) {
    server.on(event, (request: IncomingMessage, socket: Duplex) => {
      socket.on('error', () => socket.destroy())
      afterThat(latest(socket), () => {
        if (socket.destroyed) return
        answer(request, lastResponse(request, socket as TLSSocket, limits.stalledMs), event)
      })
    })
  }
}

/** The answer with the ID of its request, in place of one that another server gave it. */
const withId = (answer: Answer, id: string): Answer => ({
  ...answer,
  headers: { ...answer.headers, 'audit-id': id, 'x-request-id': id },
})

const isHostless = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === '1.1' && headers.host === undefined

/** A socket carries one answer at a time: the one to a request that came before may not be complete yet. */
function afterThat(before: ServerResponse | undefined, act: () => void): void {
  if (before === undefined || before.closed) act()
  else before.once('close', act)
}

/** One reason for all: without one, each abort makes a DOMException with a stack. */
const GONE = 'the client is gone, or has its answer'

function callOf(
  id: string,
  request: IncomingMessage,
  response: ServerResponse,
  by: HttpRequest['by'],
): HttpRequest {
  const { method = '', url: target = '', headers, rawHeaders, socket } = request
  const gone = new AbortController()
  let ended: AbortController | null = null
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(GONE)
    ended?.abort(GONE)
  })
  return {
    id,
    method,
    target,
    headers,
    rawHeaders,
    by,
    body: bodyOf(request, response, by),
    remoteAddress: socket.remoteAddress ?? '',
    gone: gone.signal,
    get ended() {
      ended ??= new AbortController()
      if (response.closed) ended.abort(GONE)
      return ended.signal
    },
    unsent: () => response.writableLength,
  }
}

function bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
  by: HttpRequest['by'],
): Readable {
  // Of a socket that Node has given up to us nothing more is read: it may hold anything.
  if (by !== 'request') return Readable.from([])
  return awaitsContinue(request)
    ? Readable.from(continued(request, response), { objectMode: false })
    : request
}

/** Sends `100 Continue` when the body is read first, and not for a body that is refused. */
async function* continued(
  request: IncomingMessage,
  response: ServerResponse,
): AsyncGenerator<Buffer> {
  response.writeContinue()
  yield* request as AsyncIterable<Buffer>
}

/** A response on a socket that Node has given up to us: the last thing said there. */
function lastResponse(
  request: IncomingMessage,
  socket: TLSSocket,
  stalledMs: number,
): ServerResponse {
  socket.setTimeout(stalledMs, () => socket.destroy())
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  return response
}
