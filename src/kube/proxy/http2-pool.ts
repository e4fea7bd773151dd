// HTTP/2 connections to one server, each for many requests at a time: with a hundred streams on each, fifty
// connections carry five thousand watches.
import { type ClientHttp2Session, connect } from 'node:http2'
import { isIP } from 'node:net'
import { type TLSSocket, connect as connectTls } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import type { Tls } from '../client/kubeconfig.ts'
import { exchangeOverHttp2 } from './http2-stream.ts'
import { type UpstreamAnswer, type UpstreamCall, UpstreamError } from './types.ts'

/** Server, TLS options and clock. */
interface Http2Options {
  readonly origin: string
  readonly tls: Tls
  readonly clock: Clock
}

/** Streams on a connection. kube-apiserver allows 100; a server that allows more gets no more, as a break ends them all. */
const MAX_STREAMS = 100
/**
 * How long a cancelled stream counts. The server ends its handler later, and closes a connection with too
 * many of them, which would end the watches of other clients.
 */
const COOLING_MS = 1000
/** The API server closes a connection without streams after 90 s. We close it earlier. */
const IDLE_FOR_MS = 60_000

/** One connection, from its first request to its end. */
interface PooledSession {
  /** null = the server does not speak HTTP/2. */
  readonly session: Promise<ClientHttp2Session | null>
  isOpen: boolean
  /** The most streams at a time. */
  maxStreams: number
  streams: number
  stopIdling: () => void
}

/** The connections of this process with one certificate. */
export class Http2Pool {
  readonly #options: Http2Options
  readonly #sessions = new Set<PooledSession>()

  constructor(options: Http2Options) {
    this.#options = options
  }

  /**
   * The head of the answer; null, with nothing sent, when the server does not speak HTTP/2.
   *
   * @throws UpstreamError
   */
  async send(call: UpstreamCall): Promise<UpstreamAnswer | null> {
    const pooled = this.#fullest() ?? this.#openPooled()
    pooled.stopIdling()
    pooled.streams += 1
    const session = await pooled.session.catch((cause: unknown) => {
      throw new UpstreamError('unprocessed', cause)
    })
    if (!session) return null
    if (session.closed || session.destroyed) {
      pooled.isOpen = false
      throw new UpstreamError('unprocessed', new Error('the connection has just been closed'))
    }
    if (call.signal.aborted) {
      this.#release(pooled, false)
      // Node would send a stream that is cancelled right after it is opened.
      throw new UpstreamError('unprocessed', new Error('the request was ended before it was sent'))
    }
    const { answer, closed } = exchangeOverHttp2(session, call, this.#options.clock)
    void closed.then(({ isCancelled }) => this.#release(pooled, isCancelled))
    return answer
  }

  /** Whether no connection is left. */
  get isEmpty(): boolean {
    return this.#sessions.size === 0
  }

  /** Takes no more requests; those in flight go on. */
  retire(): void {
    this.#each((session) => session.close())
  }

  /** Ends the connections and all requests in flight. */
  close(): void {
    this.#each((session) => session.destroy())
  }

  #each(end: (session: ClientHttp2Session) => void): void {
    for (const pooled of this.#sessions) {
      pooled.isOpen = false
      pooled.stopIdling()
      void pooled.session.then((session) => session && end(session)).catch(() => undefined)
    }
  }

  /** The fullest connection with room, so that the others become idle and close. */
  #fullest(): PooledSession | undefined {
    let fullest: PooledSession | undefined
    for (const pooled of this.#sessions) {
      const hasRoom = pooled.isOpen && pooled.streams < pooled.maxStreams
      if (hasRoom && pooled.streams >= (fullest?.streams ?? 0)) fullest = pooled
    }
    return fullest
  }

  #openPooled(): PooledSession {
    const { origin, tls, clock } = this.#options
    const session = openSession(origin, tls, clock)
    const pooled: PooledSession = {
      session,
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
    session.then((opened) => (opened ? trackSession(pooled, opened, remove) : remove()), remove)
    return pooled
  }

  #release(pooled: PooledSession, isCancelled: boolean): void {
    const { clock } = this.#options
    if (isCancelled) {
      clock.schedule(COOLING_MS, () => this.#release(pooled, false))
      return
    }
    pooled.streams -= 1
    if (pooled.streams > 0 || !pooled.isOpen) return
    pooled.stopIdling = clock.schedule(IDLE_FOR_MS, () => {
      pooled.isOpen = false
      void pooled.session.then((session) => session?.close())
    })
  }
}

function trackSession(
  pooled: PooledSession,
  session: ClientHttp2Session,
  remove: () => void,
): void {
  session.on('remoteSettings', ({ maxConcurrentStreams = MAX_STREAMS }) => {
    // At least one: a request that waits for its stream has a timeout of its own.
    pooled.maxStreams = Math.max(Math.min(maxConcurrentStreams, MAX_STREAMS), 1)
  })
  // Requests in flight go on, if the server lets them.
  session.once('goaway', () => {
    pooled.isOpen = false
  })
  session.once('close', remove)
}

// One HTTP/2 connection: opens it, and detects when it is dead.

const CONNECT_WITHIN_MS = 10_000
/** Most bytes of one answer that we buffer for a client that does not read. */
const STREAM_WINDOW = 256 * 1024
/** Node reopens this window at once, whether the client reads or not: it bounds bytes on the wire only. */
const CONNECTION_WINDOW = 16 * 1024 * 1024
/** Node's memory for one connection, buffers for slow clients included: beyond it new streams fail. */
const SESSION_MEMORY_MB = 128
/** Twice the bytes of the most groups that a key may have, with the longest names. */
const LONGEST_HEADERS = 256 * 1024
/** Interval of pings; the answer to each is due before the next. */
const PING_EVERY_MS = 15_000

/**
 * Opens a connection; null when the server does not choose HTTP/2 (ALPN).
 *
 * @throws Error when the connection takes too long, or the server's certificate is not trusted
 */
export async function openSession(
  origin: string,
  tls: Tls,
  clock: Clock,
): Promise<ClientHttp2Session | null> {
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
    // Node emits this event a turn late: the session may be destroyed by then, and its methods throw.
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW)
  })
  startPings(session, clock)
  return session
}

async function openSocket(url: URL, tls: Tls, clock: Clock): Promise<TLSSocket> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const socket = connectTls({
    // SNI takes names only, no IP addresses.
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

/** Without pings, a watch on a dead connection stays open for hours: no answer is due on it. */
function startPings(session: ClientHttp2Session, clock: Clock): void {
  let isUnanswered = false
  let stop = (): void => undefined
  const ping = (): void => {
    // Node emits `close` a turn late, too.
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
