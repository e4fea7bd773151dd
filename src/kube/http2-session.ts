// One connection by HTTP/2: how it is opened, and how one that is dead is noticed.
import { type ClientHttp2Session, connect } from 'node:http2'
import { isIP } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Clock } from '../runtime/clock.ts'
import type { Tls } from './connection.ts'

const CONNECT_WITHIN_MS = 10_000
/** What a client that does not read may make us hold of one answer; bytes. */
const STREAM_WINDOW = 256 * 1024
/** Node gives a connection's window back at once, whoever reads: it bounds what is on the wire only. */
const CONNECTION_WINDOW = 16 * 1024 * 1024
/** Of what Node counts for a connection, windows of slow clients included: new streams fail beyond. */
const SESSION_MEMORY_MB = 128
/** As many groups as a key may have, of the longest names, twice over; bytes. */
const LONGEST_HEADERS = 256 * 1024
/** How often a connection is asked whether it is alive; an answer is due before the next time. */
const ASK_EVERY_MS = 15_000

/**
 * Opens a connection; null when the server does not choose HTTP/2 there.
 *
 * @throws Error when there is no connection in time, or the server is not the one that is meant
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
  // Each stream learns of it by itself.
  session.on('error', () => undefined)
  session.once('connect', () => {
    // It is told a turn later, to a session that may have ended: whatever is asked of one throws.
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW)
  })
  keepAsking(session, clock)
  return session
}

async function openSocket(url: URL, tls: Tls, clock: Clock): Promise<TLSSocket> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const socket = connectTls({
    // An address is no name that a server could be asked for.
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

/** A server that is gone without a word would hold watches for hours: nothing is ever due on them. */
function keepAsking(session: ClientHttp2Session, clock: Clock): void {
  let isDue = false
  let stop = (): void => undefined
  const ask = (): void => {
    // Its end is told a turn later, too.
    if (session.destroyed) return
    if (isDue) {
      session.destroy(new Error('the API server does not answer on this connection'))
      return
    }
    isDue = session.ping(() => {
      isDue = false
    })
    stop = clock.schedule(ASK_EVERY_MS, ask)
  }
  stop = clock.schedule(ASK_EVERY_MS, ask)
  session.once('close', () => stop())
}
