// Limits the number of connections, and how long one may be idle, so that clients without a credential can't occupy
// all of them (contract 13.3).
import type { ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'

/** Limits of connections; times in milliseconds. */
export interface ConnectionLimits {
  /** Most open connections. */
  readonly most: number
  /** An idle connection is closed after this time. */
  readonly idleMs: number
  /** A connection whose client reads nothing of its response is closed after this time. */
  readonly stalledMs: number
}

/** The limits of the gateway. Idle connections live longer than in load balancers, so that those close them first. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  most: 8192,
  idleMs: 75_000,
  stalledMs: 30_000,
}

/** Idle connections are closed once this share of the allowed connections is open. */
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

/**
 * Closes idle connections, and refuses connections beyond the limit.
 *
 * @returns whether the server is crowded: then each response must close its connection, because a client could keep
 *   it open forever by further requests
 */
export function limitConnections(
  server: Server,
  { limits, latest, dropped }: LimitOptions,
): () => boolean {
  const crowdedFrom = Math.ceil(limits.most * CROWDED_SHARE)
  const secured = new Set<TLSSocket>()
  let open = 0
  server.maxConnections = limits.most
  server.keepAliveTimeout = limits.idleMs
  server.timeout = limits.stalledMs
  server.on('drop', dropped)
  server.on('timeout', (socket: TLSSocket) => {
    // Not stalled: the client has read everything and waits, such as on a silent watch.
    if (socket.writableLength === 0 && isInProgress(latest(socket)))
      socket.setTimeout(limits.stalledMs)
    else socket.destroy()
  })
  server.on('secureConnection', (socket) => {
    secured.add(socket)
    socket.once('close', () => secured.delete(socket))
  })
  // Counts connections before their TLS handshake as well.
  server.on('connection', (socket: Socket) => {
    open += 1
    socket.once('close', () => (open -= 1))
    if (open !== crowdedFrom) return
    for (const each of secured) if (isIdle(latest(each))) each.destroySoon()
  })
  return () => open >= crowdedFrom
}

/** Whether the response is not complete, or the client is still sending its request. */
const isInProgress = (response: ServerResponse | undefined): boolean =>
  response !== undefined && !(response.closed && response.req.complete)

/** Whether the client has got all its responses. A client without a request yet is not idle: it has a timeout. */
const isIdle = (response: ServerResponse | undefined): boolean =>
  response !== undefined && !isInProgress(response)
