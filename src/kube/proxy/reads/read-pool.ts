// The connections to one server for reads by HTTP/1.1. A read takes one that is free, else it opens one.
import type { Socket } from 'node:net'
import { withoutBrackets } from '../../../domain/ip-address.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Tls } from '../../client/kubeconfig.ts'
import { type Connector, buildConnector } from '../../client/undici.ts'
import { ReadConnection, type ReadHandler, type ReadCall } from './read-connection.ts'

/** The API server closes idle connections after 90 s. They are closed earlier here, so that none breaks a read. */
const IDLE_MS = 60_000

/** Options of a pool. */
interface ReadPoolOptions {
  /** Scheme, host and port. */
  readonly origin: string
  readonly tls: Tls
  readonly clock: Clock
}

/** A connection that is free. */
interface Idle {
  readonly connection: ReadConnection
  readonly sinceMs: number
}

/** Connections to one server. */
export class ReadPool {
  readonly #origin: URL
  readonly #connect: Connector
  readonly #clock: Clock
  readonly #all = new Set<ReadConnection>()
  readonly #opening = new Set<Socket>()
  /** The one that was used last is last: the others close when few are needed. */
  #idle: Idle[] = []
  #isClosing = false
  #isDestroyed = false
  #stopTimer: () => void = () => undefined

  constructor({ origin, tls, clock }: ReadPoolOptions) {
    this.#origin = new URL(origin)
    const options = { ...tls, allowH2: false, keepAlive: true, keepAliveInitialDelay: 30_000 }
    this.#connect = buildConnector(options)
    this.#clock = clock
  }

  /** Whether there is no connection. */
  get isEmpty(): boolean {
    return this.#all.size === 0 && this.#opening.size === 0
  }

  /** Sends a read. Without a connection `onResponseError` is called, and `onRequestStart` is not. */
  dispatch(request: ReadCall, handler: ReadHandler): void {
    const free = this.#idle.pop()
    if (this.#isDestroyed) handler.onResponseError(NOT_SENT, CLOSED)
    else if (free !== undefined) free.connection.send(request, handler)
    else this.#open(request, handler)
  }

  /** Accepts no more reads; those under way finish. */
  close(): void {
    this.#isClosing = true
    this.#stopTimer()
    this.#closeIdle()
  }

  /** Ends all. */
  destroy(): void {
    this.#isDestroyed = true
    this.close()
    for (const connection of this.#all) connection.close()
    for (const socket of this.#opening) socket.destroy(CLOSED)
  }

  #closeIdle(): void {
    for (const { connection } of this.#idle.splice(0)) connection.close()
  }

  #open(request: ReadCall, handler: ReadHandler): void {
    const { protocol, host, hostname, port } = this.#origin
    const target = { protocol, host, hostname: withoutBrackets(hostname), port }
    let opening: Socket | null = null
    const connected: Parameters<Connector>[1] = (...[error, socket]) => {
      if (opening !== null) this.#opening.delete(opening)
      if (error !== null) return handler.onResponseError(NOT_SENT, error)
      if (!this.#isDestroyed) return this.#add(socket, host).send(request, handler)
      socket.destroy()
      handler.onResponseError(NOT_SENT, CLOSED)
    }
    try {
      opening = this.#connect(target, connected)
      this.#opening.add(opening)
    } catch (error) {
      // Of TLS options: a certificate whose key is another one's, while both files are replaced.
      handler.onResponseError(NOT_SENT, error as Error)
    }
  }

  #add(socket: Socket, host: string): ReadConnection {
    const connection = new ReadConnection(socket, host, {
      free: (one) => this.#free(one),
      closed: (one) => {
        this.#all.delete(one)
        this.#idle = this.#idle.filter((idle) => idle.connection !== one)
      },
      // The repeat of the read that has met one must not meet the next.
      wasStale: () => this.#closeIdle(),
    })
    this.#all.add(connection)
    return connection
  }

  #free(connection: ReadConnection): void {
    if (this.#isClosing) return connection.close()
    if (this.#idle.length === 0) this.#closeLater(IDLE_MS)
    this.#idle.push({ connection, sinceMs: this.#clock.monotonicMs() })
  }

  #closeLater(afterMs: number): void {
    this.#stopTimer()
    this.#stopTimer = this.#clock.schedule(afterMs, () => {
      const endedMs = this.#clock.monotonicMs() - IDLE_MS
      for (const { connection, sinceMs } of this.#idle) if (sinceMs <= endedMs) connection.close()
      const [eldest] = this.#idle
      if (eldest !== undefined) this.#closeLater(eldest.sinceMs - endedMs)
    })
  }
}

const CLOSED = new Error('the connections are closed')

/** Of a request that was not sent. */
const NOT_SENT = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
}
