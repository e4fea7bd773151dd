// How many connections there are, and how long an idle one lasts: clients without a credential can't keep them
// all (contract 13.3).
import type { ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'

/** How long connections last, and how many there are; times in milliseconds. */
export interface ConnectionLimits {
  readonly most: number
  /** A client that asks for nothing more is waited for so long. */
  readonly idleMs: number
  /** A client that takes nothing of its answer for so long is cut off. */
  readonly stalledMs: number
}

/** Those of the gateway. Idle: longer than what load balancers in front of it wait, so that they end it. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  most: 8192,
  idleMs: 75_000,
  stalledMs: 30_000,
}

/** From this part of the places on, idle connections are closed. */
const CROWDED_FROM = 0.75

/** The last response that was begun on a socket. */
export type Latest = (socket: Duplex) => ServerResponse | undefined

/** What connections are limited by. */
interface LimitOptions {
  readonly limits: ConnectionLimits
  readonly latest: Latest
  /** A connection was turned away: all places are taken. */
  readonly dropped: () => void
}

/**
 * Ends idle connections, and refuses those beyond the limit.
 *
 * @returns whether so many are open now that an answer is to be the last of its connection: a client that
 * may ask again can keep its place for as long as it likes
 */
export function limitConnections(
  server: Server,
  { limits, latest, dropped }: LimitOptions,
): () => boolean {
  const crowdedFrom = Math.ceil(limits.most * CROWDED_FROM)
  const secured = new Set<TLSSocket>()
  let open = 0
  server.maxConnections = limits.most
  server.keepAliveTimeout = limits.idleMs
  server.timeout = limits.stalledMs
  server.on('drop', dropped)
  server.on('timeout', (socket: TLSSocket) => {
    // One that waits with us is not cut off, however long a watch is silent.
    if (socket.writableLength === 0 && isUnderWay(latest(socket)))
      socket.setTimeout(limits.stalledMs)
    else socket.destroy()
  })
  server.on('secureConnection', (socket) => {
    secured.add(socket)
    socket.once('close', () => secured.delete(socket))
  })
  // Those as well that have not shaken hands.
  server.on('connection', (socket: Socket) => {
    open += 1
    socket.once('close', () => (open -= 1))
    if (open !== crowdedFrom) return
    for (const each of secured) if (isIdle(latest(each))) each.destroySoon()
  })
  return () => open >= crowdedFrom
}

/** Whether a client waits for an answer, or is still sending what it is about. */
const isUnderWay = (last: ServerResponse | undefined): boolean =>
  last !== undefined && !(last.closed && last.req.complete)

/** Whether a client got all its answers. One that asked for nothing yet is about to, or times out. */
const isIdle = (last: ServerResponse | undefined): boolean =>
  last !== undefined && !isUnderWay(last)
