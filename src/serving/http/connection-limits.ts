// Limits the number of connections, and how long one may be idle, so that clients without a credential can't occupy
// all of them (contract 13.3). new-connections.ts limits those without a request yet.
import type { ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { type NewConnectionLimits, NewConnections } from './new-connections.ts'
import { StalledClients } from './stalled-clients.ts'

/** Limits of connections; times in milliseconds. */
export interface ConnectionLimits {
  /** Maximum number of open connections. */
  readonly maxConnections: number
  /** An idle connection is closed after this time. */
  readonly idleMs: number
  /** A connection whose client reads nothing of its response is closed after this time; if it sends meanwhile, after twice that. */
  readonly stalledMs: number
  /** Connections without a request yet. */
  readonly fresh: NewConnectionLimits
}

/** The limits of the gateway. Idle connections live longer than in load balancers, so that those close them first. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 8192,
  idleMs: 75_000,
  stalledMs: 30_000,
  fresh: { maxConnections: 1024, withinMs: 10_000 },
}

/**
 * Once this share of the allowed connections is in use, idle ones are closed: first those on which no credential was valid,
 * which anybody can open, and callers' connections once callers alone are so many.
 */
const CROWDED_SHARE = 0.75

/** Finds the latest response on a socket; undefined = there was no request. */
export type LatestResponse = (socket: Duplex) => ServerResponse | undefined

/** Options of limitConnections. */
interface LimitOptions {
  readonly limits: ConnectionLimits
  readonly latest: LatestResponse
  /** Called when a connection is refused, because the most allowed are open. */
  readonly dropped: () => void
}

/** The limited connections of a server. */
export interface LimitedConnections {
  /** A request has come on the socket: from its first one on, the connection counts as used. */
  readonly requested: (socket: Socket) => void
  /** A request on the socket has a valid credential: the connection is a caller's. */
  readonly authenticated: (socket: Socket) => void
  /**
   * Whether the server is so crowded that each response on the socket must close its connection, because a client could keep
   * it open forever by further requests.
   */
  readonly isCrowdedFor: (socket: Socket) => boolean
  /** Closes the connection of a client that reads nothing. */
  readonly closeStalled: (socket: Socket) => void
  /** Whether `closeStalled` has closed the connection. */
  readonly hasStalled: (socket: Socket) => boolean
}

/** Closes idle connections and late new ones, and refuses connections beyond the limit. */
export function limitConnections(
  server: Server,
  { limits, latest, dropped }: LimitOptions,
): LimitedConnections {
  const crowdedFrom = Math.ceil(limits.maxConnections * CROWDED_SHARE)
  const callers = new Set<Socket>()
  const strangers = new Set<Socket>()
  const stalled = new WeakSet<Socket>()
  const closeStalled = (socket: Socket): void => {
    stalled.add(socket)
    socket.destroy()
  }
  const closeIdle = (connections: ReadonlySet<Socket>): void => {
    for (const each of connections) if (isIdle(latest(each))) each.destroySoon()
  }
  const fresh = new NewConnections(limits.fresh, () => performance.now())
  server.maxConnections = limits.maxConnections
  server.keepAliveTimeout = limits.idleMs
  server.timeout = limits.stalledMs
  server.on('drop', dropped)
  server.on('timeout', (socket: TLSSocket) => {
    // Not stalled: the client has read everything and waits, such as on a silent watch.
    if (socket.writableLength === 0 && isInProgress(latest(socket)))
      socket.setTimeout(limits.stalledMs)
    else closeStalled(socket)
  })
  const stalledClients = new StalledClients()
  const looking = setInterval(() => {
    for (const socket of stalledClients.look([...callers, ...strangers])) closeStalled(socket)
  }, limits.stalledMs).unref()
  server.once('close', () => clearInterval(looking))
  // Before the TLS handshake.
  server.on('connection', (socket: Socket) => fresh.add(socket))
  return {
    requested: (socket) => {
      if (!fresh.requested(socket)) return
      strangers.add(socket)
      socket.once('close', () => callers.delete(socket) || strangers.delete(socket))
      // Only then: while it stays crowded, no other becomes idle.
      if (callers.size + strangers.size === crowdedFrom) closeIdle(strangers)
    },
    authenticated: (socket) => {
      if (!strangers.delete(socket)) return
      callers.add(socket)
      if (callers.size === crowdedFrom) closeIdle(callers)
    },
    isCrowdedFor: (socket) =>
      callers.size + strangers.size >= crowdedFrom &&
      (!callers.has(socket) || callers.size >= crowdedFrom),
    closeStalled,
    hasStalled: (socket) => stalled.has(socket),
  }
}

/** Whether the response is not complete, or the client is still sending its request. */
const isInProgress = (response: ServerResponse | undefined): boolean =>
  response !== undefined && !(response.closed && response.req.complete)

/** Whether the client has got all its responses. */
const isIdle = (response: ServerResponse | undefined): boolean =>
  response !== undefined && !isInProgress(response)
