// Connections whose client has not sent a whole request yet, from its TCP handshake on. Their owners are unknown, so
// they have a budget and a deadline of their own, and take nothing from connections that have (contract 13.3).
import type { Socket } from 'node:net'

/** Limits of new connections. */
export interface NewConnectionLimits {
  /** Maximum number of new connections; one more ends the oldest. */
  readonly maxConnections: number
  /** How long one may take for its first request, in milliseconds, while at most half of them are there. */
  readonly withinMs: number
}

/** The fraction of withinMs that remains when the budget is used up. */
const SHORTEST_SHARE = 0.1

/** How long a new connection may take while there are so many, in milliseconds. It shrinks from half of the budget on. */
export function deadlineMs(
  { maxConnections, withinMs }: NewConnectionLimits,
  count: number,
): number {
  const room = Math.max(0, 1 - count / maxConnections) * 2
  return withinMs * Math.min(1, Math.max(SHORTEST_SHARE, room))
}

const LOOK_EVERY_MS = 250

/** The new connections of a server. */
export class NewConnections {
  readonly #limits: NewConnectionLimits
  readonly #nowMs: () => number
  /** The oldest first: socket of the TCP connection, and when it was accepted. */
  readonly #waiting = new Map<Socket, number>()
  /** By the client's address and port, which TCP and TLS socket share. */
  readonly #byPeer = new Map<string, Socket>()
  #timer: NodeJS.Timeout | null = null

  /** @param nowMs a counter in milliseconds that is independent of the wall clock */
  constructor(limits: NewConnectionLimits, nowMs: () => number) {
    this.#limits = limits
    this.#nowMs = nowMs
  }

  /** Counts a TCP connection until its first request, or its end. */
  add(socket: Socket): void {
    const peer = peerOf(socket)
    this.#waiting.set(socket, this.#nowMs())
    this.#byPeer.set(peer, socket)
    socket.once('close', () => this.#forget(socket, peer))
    if (this.#waiting.size > this.#limits.maxConnections) this.#endOldest()
    this.#timer ??= setInterval(() => this.#endLate(), LOOK_EVERY_MS).unref()
  }

  /** Call it for each request on a connection. @returns whether it is the first one */
  requested(socket: Socket): boolean {
    const peer = peerOf(socket)
    const waiting = this.#byPeer.get(peer)
    return waiting !== undefined && this.#forget(waiting, peer)
  }

  #endOldest(): void {
    for (const socket of this.#waiting.keys()) {
      this.#forget(socket, peerOf(socket))
      socket.destroy()
      return
    }
  }

  #endLate(): void {
    const nowMs = this.#nowMs()
    const limitMs = deadlineMs(this.#limits, this.#waiting.size)
    for (const [socket, sinceMs] of this.#waiting) {
      // The others are younger.
      if (nowMs - sinceMs < limitMs) return
      this.#forget(socket, peerOf(socket))
      socket.destroy()
    }
  }

  #forget(socket: Socket, peer: string): boolean {
    if (this.#byPeer.get(peer) === socket) this.#byPeer.delete(peer)
    const wasNew = this.#waiting.delete(socket)
    if (this.#waiting.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
    return wasNew
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
