// One HTTP/2 connection: opens it, and detects when it is dead.
import { type ClientHttp2Session, connect } from 'node:http2'
import { isIP } from 'node:net'
import { type TLSSocket, connect as connectTls } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import type { Tls } from '../client/kubeconfig.ts'

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
