// HTTP/2 connections to one server, each for many concurrent requests: fifty connections of a hundred streams carry
// five thousand watches.
import { type ClientHttp2Session, connect } from 'node:http2'
import { isIP } from 'node:net'
import { type TLSSocket, connect as connectTls } from 'node:tls'
import { withoutBrackets } from '../../domain/ip-address.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Tls } from '../client/kubeconfig.ts'
import { FramesInTurn } from './http2-pieces.ts'
import { type Http2Connection, exchangeOverHttp2 } from './http2-stream.ts'
import { type UpstreamAnswer, type UpstreamCall, UpstreamError } from './types.ts'

/** Options of a pool. `origin` is scheme, host and port of the server. */
interface Http2Options {
  readonly origin: string
  readonly tls: Tls
  readonly clock: Clock
}

/**
 * Maximum streams on a connection, as in kube-apiserver. Not more if a server allows it: a broken connection ends all.
 */
const MAX_STREAMS = 100
/**
 * How long a cancelled stream still counts. The server ends its handler later, and closes a connection with too many
 * such handlers, which would end the watches of other clients.
 */
const CANCELLED_COUNTS_MS = 1000
/** The API server closes a connection without streams after 90 s. We close it earlier. */
const CLOSE_IDLE_AFTER_MS = 60_000

/** A connection of the pool. */
interface PooledSession {
  /** null = the server does not support HTTP/2. */
  readonly opened: Promise<Http2Connection | null>
  /** Whether it takes further requests. */
  isOpen: boolean
  /** Maximum number of concurrent streams. */
  maxStreams: number
  /** Number of open streams, and of those cancelled within CANCELLED_COUNTS_MS. */
  streams: number
  /** Cancels the timer that closes the idle connection. */
  stopIdling: () => void
}

/** The HTTP/2 connections of this process with one client certificate. */
export class Http2Pool {
  readonly #options: Http2Options
  readonly #sessions = new Set<PooledSession>()

  constructor(options: Http2Options) {
    this.#options = options
  }

  /**
   * Sends a request. Resolves with the head of the response; null = not sent, as the server does not support HTTP/2.
   *
   * @throws UpstreamError
   */
  async send(call: UpstreamCall): Promise<UpstreamAnswer | null> {
    const pooled = this.#fullestWithRoom() ?? this.#openPooled()
    pooled.stopIdling()
    pooled.streams += 1
    const opened = await pooled.opened.catch((cause: unknown) => {
      throw new UpstreamError('unprocessed', cause)
    })
    if (!opened) return null
    const { session } = opened
    if (session.closed || session.destroyed) {
      pooled.isOpen = false
      throw new UpstreamError('unprocessed', new Error('the connection has just been closed'))
    }
    if (call.signal.aborted || call.maySend?.() === false) {
      this.#release(pooled, false)
      // Not opened at all: Node would send a stream even if it is cancelled right after it is opened.
      throw new UpstreamError('unprocessed', new Error('the request was ended before it was sent'))
    }
    const { answer, closed } = exchangeOverHttp2(opened, call, this.#options.clock)
    void closed.then(({ isCancelled }) => this.#release(pooled, isCancelled))
    return answer
  }

  /** Whether all connections are closed. */
  get isEmpty(): boolean {
    return this.#sessions.size === 0
  }

  /** Takes no more requests; requests in flight finish. */
  retire(): void {
    this.#endAll((session) => session.close())
  }

  /** Closes the connections, and so ends all requests in flight. */
  close(): void {
    this.#endAll((session) => session.destroy())
  }

  #endAll(end: (session: ClientHttp2Session) => void): void {
    for (const pooled of this.#sessions) {
      pooled.isOpen = false
      pooled.stopIdling()
      void pooled.opened.then((opened) => opened && end(opened.session)).catch(() => undefined)
    }
  }

  /** The fullest connection with room for a stream, so that the others become idle and close. */
  #fullestWithRoom(): PooledSession | undefined {
    let fullest: PooledSession | undefined
    for (const pooled of this.#sessions) {
      const hasRoom = pooled.isOpen && pooled.streams < pooled.maxStreams
      if (hasRoom && pooled.streams >= (fullest?.streams ?? 0)) fullest = pooled
    }
    return fullest
  }

  #openPooled(): PooledSession {
    const { origin, tls, clock } = this.#options
    const opening = openSession(origin, tls, clock)
    const pooled: PooledSession = {
      opened: opening,
      isOpen: true,
      maxStreams: MAX_STREAMS,
      streams: 0,
      stopIdling: () => undefined,
    }
    this.#sessions.add(pooled)
    const remove = (): void => {
      pooled.isOpen = false
      pooled.stopIdling()
      this.#sessions.delete(pooled)
    }
    opening.then(
      (opened) => (opened ? trackSession(pooled, opened.session, remove) : remove()),
      remove,
    )
    return pooled
  }

  #release(pooled: PooledSession, isCancelled: boolean): void {
    const { clock } = this.#options
    if (isCancelled) {
      clock.schedule(CANCELLED_COUNTS_MS, () => this.#release(pooled, false))
      return
    }
    pooled.streams -= 1
    if (pooled.streams > 0 || !pooled.isOpen) return
    pooled.stopIdling = clock.schedule(CLOSE_IDLE_AFTER_MS, () => {
      pooled.isOpen = false
      void pooled.opened.then((opened) => opened?.session.close())
    })
  }
}

function trackSession(
  pooled: PooledSession,
  session: ClientHttp2Session,
  remove: () => void,
): void {
  session.on('remoteSettings', ({ maxConcurrentStreams = MAX_STREAMS }) => {
    // At least one, even if the server allows none: a request that waits for its stream has a timeout of its own.
    pooled.maxStreams = Math.max(Math.min(maxConcurrentStreams, MAX_STREAMS), 1)
  })
  // Requests in flight may finish.
  session.once('goaway', () => {
    pooled.isOpen = false
  })
  session.once('close', remove)
}

// Opens an HTTP/2 connection, and detects when it is dead.

const CONNECT_WITHIN_MS = 10_000
/** Maximum bytes of a response that are buffered for a client that does not read. */
const STREAM_WINDOW = 256 * 1024
/** Node reopens this window at once, even if the client does not read: it bounds only the bytes on the wire. */
const CONNECTION_WINDOW = 16 * 1024 * 1024
/** Maximum memory of a connection, including buffers for slow clients: beyond it new streams fail. */
const SESSION_MEMORY_MB = 128
/** Maximum bytes of the request headers: twice the bytes of the longest groups of a key. */
const LONGEST_HEADERS = 256 * 1024
/** Interval of pings; each must be acknowledged before the next. */
const PING_EVERY_MS = 15_000

/**
 * Opens a connection; null = the server does not choose HTTP/2 (ALPN).
 *
 * @throws Error when the connection takes too long, or the server's certificate is not trusted
 */
export async function openSession(
  origin: string,
  tls: Tls,
  clock: Clock,
): Promise<Http2Connection | null> {
  const socket = await openSocket(new URL(origin), tls, clock)
  if (socket.alpnProtocol !== 'h2') {
    socket.destroy()
    return null
  }
  const session = connect(origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW, maxFrameSize: 65536 },
    maxSessionMemory: SESSION_MEMORY_MB,
    maxSendHeaderBlockLength: LONGEST_HEADERS,
  })
  // Each stream has an error event of its own.
  session.on('error', () => undefined)
  session.once('connect', () => {
    // Node emits this event one turn late: the session may be destroyed by then, and its methods would throw.
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW)
  })
  startPings(session, clock)
  return { session, frames: new FramesInTurn(socket) }
}

async function openSocket(url: URL, tls: Tls, clock: Clock): Promise<TLSSocket> {
  const host = withoutBrackets(url.hostname)
  const socket = connectTls({
    // SNI allows host names only, no IP addresses.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(tls as object),
    host,
    port: Number(url.port || '443'),
    ALPNProtocols: ['h2', 'http/1.1'],
  })
  socket.setNoDelay(true)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('secureConnect', resolve)
  socket.once('error', reject)
  const stop = clock.schedule(CONNECT_WITHIN_MS, () =>
    socket.destroy(new Error('no connection in time')),
  )
  try {
    await promise
    return socket
  } finally {
    stop()
    socket.off('error', reject)
  }
}

/** Detects a dead connection by pings. Without them a watch on it would stay open for hours. */
function startPings(session: ClientHttp2Session, clock: Clock): void {
  let isUnanswered = false
  let stop = (): void => undefined
  const ping = (): void => {
    // Node emits `close` one turn late, so the session may be destroyed already.
    if (session.destroyed) return
    if (isUnanswered) {
      session.destroy(new Error('the API server does not answer on this connection'))
      return
    }
    isUnanswered = session.ping(() => {
      isUnanswered = false
    })
    stop = clock.schedule(PING_EVERY_MS, ping)
  }
  stop = clock.schedule(PING_EVERY_MS, ping)
  session.once('close', () => stop())
}
