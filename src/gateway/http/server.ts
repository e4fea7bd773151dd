// The sockets of the gateway: TLS, limits, and the one function that answers whatever comes in.
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import { type Duplex, pipeline, Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { BindAddress } from '../../runtime/address.ts'
import type { CertificatePair } from '../../runtime/certificate.ts'
import { closed, listening } from '../../runtime/listen.ts'
import type { Answer } from './answer.ts'

/** A request as it came in. */
export interface Call {
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
  requestTimeout: 60_000,
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
  server.on('timeout', cutStalled)
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
  const latest = new WeakMap<Duplex, ServerResponse>()
  const answer = (request: IncomingMessage, response: ServerResponse, by: Call['by']): void => {
    // Of a request that is destroyed meanwhile Node forgets the socket.
    const { socket } = request
    latest.set(socket, response)
    void respond(callOf(request, response, by)).then((given) => {
      const sendNow = (): void => send(response, given, { socket, isServing: server.listening })
      // Closed with something unread, a socket is reset, and takes with it what was just said.
      if (!response.shouldKeepAlive && isUnread(request)) drain(request, BEFORE_IT, sendNow)
      else sendNow()
    })
  }
  // Node takes each of these away from `request`, and a listener that is missing is a way past it (A8).
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => answer(request, response, 'request'))
  }
  for (const event of ['upgrade', 'connect'] as const) {
    server.on(event, (request: IncomingMessage, socket: Duplex) => {
      socket.on('error', () => socket.destroy())
      afterThat(latest.get(socket), () => {
        if (!socket.destroyed) answer(request, lastResponse(request, socket as TLSSocket), event)
      })
    })
  }
}

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

/** Reads on until the request is complete, or too long, or too slow; then acts. */
function drain(request: IncomingMessage, limits: typeof BEFORE_IT, act: () => void): void {
  let bytes = 0
  const timer = setTimeout(done, limits.withinMs)
  function count(piece: Buffer): void {
    bytes += piece.length
    if (bytes > limits.bytes) done()
  }
  function done(): void {
    clearTimeout(timer)
    request.off('data', count).off('end', done).off('close', done).pause()
    act()
  }
  request.on('data', count).once('end', done).once('close', done).resume()
}

function callOf(request: IncomingMessage, response: ServerResponse, by: Call['by']): Call {
  const { method = '', url: target = '', headers, rawHeaders, socket } = request
  const gone = new AbortController()
  response.once('close', () => response.writableFinished || gone.abort())
  return {
    method,
    target,
    headers,
    rawHeaders,
    by,
    body: bodyOf(request, response, by),
    remoteAddress: socket.remoteAddress ?? '',
    gone: gone.signal,
  }
}

function bodyOf(request: IncomingMessage, response: ServerResponse, by: Call['by']): Readable {
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

/**
 * Once the server closes, an answer ends its connection. One that comes before the end of a body leaves the
 * rest of it to be thrown away; where that is much, or may never come, the connection ends as well.
 */
function send(
  response: ServerResponse,
  answer: Answer,
  { socket, isServing }: { readonly socket: Socket; readonly isServing: boolean },
): void {
  const { status, headers, body } = answer
  const isWhole = Buffer.isBuffer(body)
  const { req: request } = response
  const keepAlive = isServing && (request.complete || !awaitsWord(request))
  if (!request.complete) response.once('finish', () => throwAwayRest(request, socket))
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
  // A watch may have nothing to say for a while, and its client waits for the head.
  response.flushHeaders()
  // What breaks off is cut off: an end that looks whole would be a lie about the body.
  pipeline(body, response, () => undefined)
}

function throwAwayRest(request: IncomingMessage, socket: Socket): void {
  const end = (): void => {
    if (!request.complete) socket.destroySoon()
  }
  if (request.destroyed) end()
  else drain(request, BEHIND_IT, end)
}

/**
 * A client that takes nothing of what is due to it is cut off; one that waits with us is not, however
 * long a watch is silent.
 */
function cutStalled(socket: Duplex): void {
  if (socket.writableLength > 0) socket.destroy()
  else (socket as TLSSocket).setTimeout(STALLED_AFTER_MS)
}

/** A response on a socket that Node has given up to us: the last thing said there. */
function lastResponse(request: IncomingMessage, socket: TLSSocket): ServerResponse {
  socket.setTimeout(STALLED_AFTER_MS, () => socket.destroy())
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  return response
}
