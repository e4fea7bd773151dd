// The sockets of the gateway: TLS, limits, and the one function that answers whatever comes in.
import { type IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import type { Socket } from 'node:net'
import { type Duplex, Readable, pipeline } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { type BindAddress, closeServer, listen } from '../../runtime/address.ts'
import type { CertificatePair } from '../tls/key-pair.ts'
import { ALWAYS, type Answer } from './answer.ts'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  type Latest,
  limitConnections,
} from './connection-limits.ts'
import { HOSTLESS, LONGEST_HEAD, answerBroken } from './malformed-requests.ts'

/** A request as it came in. */
export interface HttpRequest {
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
  // Who sends none is answered here, and not by a bare line.
  requireHostHeader: false,
}
/** After so many requests a connection is opened anew, so that replicas that came later get some. */
const MOST_REQUESTS_EACH = 10_000

/** Told what goes wrong with connections. */
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
    const call = callOf(request, response, by)
    const answering = isHostless(request) ? Promise.resolve(HOSTLESS) : respond(call)
    answering
      .then((given) => deliver(response, given, { socket, isEnding }))
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

const isHostless = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === '1.1' && headers.host === undefined

/** A socket carries one answer at a time: the one to a request that came before may not be complete yet. */
function afterThat(before: ServerResponse | undefined, act: () => void): void {
  if (before === undefined || before.closed) act()
  else before.once('close', act)
}

/** Nobody wanted the body yet, and the client may be sending it without looking for an answer meanwhile. */
const isUnread = (request: IncomingMessage): boolean =>
  !request.complete && !request.readableDidRead && !awaitsWord(request)

const awaitsWord = (request: IncomingMessage): boolean =>
  request.headers.expect?.toLowerCase() === '100-continue'

/** How much of a body that nobody wants is taken in, before and behind its answer. */
const BEFORE_IT = { bytes: 262_144, withinMs: 500 }
const BEHIND_IT = { bytes: 1_048_576, withinMs: 5000 }

/** Reads on until the request is complete, or too long, or too slow. */
function drained(request: IncomingMessage, limits: typeof BEFORE_IT): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let bytes = 0
  const timer = setTimeout(done, limits.withinMs)
  function count(piece: Buffer): void {
    bytes += piece.length
    if (bytes > limits.bytes) done()
  }
  function done(): void {
    clearTimeout(timer)
    request.off('data', count).off('end', done).off('close', done).pause()
    resolve()
  }
  request.on('data', count).once('end', done).once('close', done).resume()
  return promise
}

function callOf(
  request: IncomingMessage,
  response: ServerResponse,
  by: HttpRequest['by'],
): HttpRequest {
  const { method = '', url: target = '', headers, rawHeaders, socket } = request
  const gone = new AbortController()
  const ended = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort()
    ended.abort()
  })
  return {
    method,
    target,
    headers,
    rawHeaders,
    by,
    body: bodyOf(request, response, by),
    remoteAddress: socket.remoteAddress ?? '',
    gone: gone.signal,
    ended: ended.signal,
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
  return awaitsWord(request)
    ? Readable.from(continued(request, response), { objectMode: false })
    : request
}

/** The client is told to go on once somebody wants its body, and not for a body that is refused. */
async function* continued(
  request: IncomingMessage,
  response: ServerResponse,
): AsyncGenerator<Buffer> {
  response.writeContinue()
  yield* request as AsyncIterable<Buffer>
}

interface DeliverOptions {
  readonly socket: Socket
  /** Whether an answer is to be the last of its connection now, be it asked for more or not. */
  readonly isEnding: () => boolean
}

/** Sends an answer. @throws Error where it can't be sent as it is; its body is given up then */
async function deliver(
  response: ServerResponse,
  answer: Answer,
  { socket, isEnding }: DeliverOptions,
): Promise<void> {
  const { req: request } = response
  const isLast = !response.shouldKeepAlive || isEnding()
  // Closed with something unread, a socket is reset, and takes with it what was just said.
  if (isLast && isUnread(request)) await drained(request, BEFORE_IT)
  if (!request.complete) response.once('finish', () => void throwAwayRest(request, socket))
  try {
    send(response, answer, isLast)
  } catch (error) {
    if (!Buffer.isBuffer(answer.body)) answer.body.destroy()
    throw error
  }
}

/**
 * An answer that comes before the end of a body leaves the rest of it to be thrown away; where that is
 * much, or may never come, the connection ends as well.
 */
function send(response: ServerResponse, answer: Answer, isLast: boolean): void {
  const { status, headers, body } = answer
  const isWhole = Buffer.isBuffer(body)
  const { req: request } = response
  const keepAlive = !isLast && (request.complete || !awaitsWord(request))
  response.writeHead(status, {
    ...ALWAYS,
    ...headers,
    // That of a 304 would be the length of what the client has.
    ...(isWhole && status !== 304 ? { 'content-length': body.length } : {}),
    ...(keepAlive ? {} : { connection: 'close' }),
  })
  if (isWhole) {
    response.end(body)
    return
  }
  // A watch may have nothing to say for a while, and its client waits for the head. Node's flushHeaders
  // takes the bytes of a header for characters, and writes them as UTF-8.
  response.write(Buffer.alloc(0))
  // What breaks off is cut off: an end that looks whole would be a lie about the body.
  pipeline(body, response, () => undefined)
}

async function throwAwayRest(request: IncomingMessage, socket: Socket): Promise<void> {
  if (!request.destroyed) await drained(request, BEHIND_IT)
  if (!request.complete) socket.destroySoon()
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
