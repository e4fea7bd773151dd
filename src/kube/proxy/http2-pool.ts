// HTTP/2 connections to one server, each for many requests at a time: with a hundred streams on each, fifty
// connections carry five thousand watches.
import type { ClientHttp2Session } from 'node:http2'
import type { Clock } from '../../runtime/clock.ts'
import type { Tls } from '../client/connection.ts'
import { openSession } from './http2-session.ts'
import { exchangeOverHttp2 } from './http2-stream.ts'
import { UpstreamError, type UpstreamAnswer, type UpstreamCall } from './types.ts'

/** Server, TLS options and clock. */
export interface Http2Options {
  readonly origin: string
  readonly tls: Tls
  readonly clock: Clock
}

/** Streams on a connection. kube-apiserver allows 100. We use no more elsewhere: a break ends them all. */
const MOST_STREAMS = 100
/**
 * How long a cancelled stream counts. The server ends its handler later, and closes a connection with too
 * many of these. So a client that cancels often must not end the watches of others.
 */
const COOLING_MS = 1000
/** The API server closes a connection without streams after 90 s. We close it earlier. */
const IDLE_FOR_MS = 60_000

/** One connection, from its first request. */
interface Lane {
  /** null = the server does not speak HTTP/2. */
  readonly session: Promise<ClientHttp2Session | null>
  isOpen: boolean
  /** The most streams at a time. */
  places: number
  taken: number
  stopIdling: () => void
}

/** The connections of this process with one certificate. */
export class Http2Pool {
  readonly #options: Http2Options
  readonly #lanes = new Set<Lane>()

  constructor(options: Http2Options) {
    this.#options = options
  }

  /**
   * The head of the answer; null, with nothing sent, when the server does not speak HTTP/2.
   *
   * @throws Unanswered
   */
  async send(call: UpstreamCall): Promise<UpstreamAnswer | null> {
    const lane = this.#fullest() ?? this.#newLane()
    lane.stopIdling()
    lane.taken += 1
    const session = await lane.session.catch((cause: unknown) => {
      throw new UpstreamError('untouched', cause)
    })
    if (!session) return null
    if (session.closed || session.destroyed) {
      lane.isOpen = false
      throw new UpstreamError('untouched', new Error('the connection has just been closed'))
    }
    if (call.signal.aborted) {
      this.#leave(lane, false)
      // Node would send a stream that is cancelled right after it is opened.
      throw new UpstreamError('untouched', new Error('the request was ended before it was sent'))
    }
    const { answer, closed } = exchangeOverHttp2(session, call, this.#options.clock)
    void closed.then(({ isCancelled }) => this.#leave(lane, isCancelled))
    return answer
  }

  /** Whether there is no connection left. */
  get isEmpty(): boolean {
    return this.#lanes.size === 0
  }

  /** Takes no more requests; those in flight go on. */
  retire(): void {
    this.#each((session) => session.close())
  }

  /** Ends everything. */
  close(): void {
    this.#each((session) => session.destroy())
  }

  #each(end: (session: ClientHttp2Session) => void): void {
    for (const lane of this.#lanes) {
      lane.isOpen = false
      lane.stopIdling()
      void lane.session.then((session) => session && end(session)).catch(() => undefined)
    }
  }

  /** The fullest connection with room, so that the others become idle and close. */
  #fullest(): Lane | undefined {
    let fullest: Lane | undefined
    for (const lane of this.#lanes) {
      const hasRoom = lane.isOpen && lane.taken < lane.places
      if (hasRoom && lane.taken >= (fullest?.taken ?? 0)) fullest = lane
    }
    return fullest
  }

  #newLane(): Lane {
    const { origin, tls, clock } = this.#options
    const session = openSession(origin, tls, clock)
    const lane: Lane = {
      session,
      isOpen: true,
      places: MOST_STREAMS,
      taken: 0,
      stopIdling: () => undefined,
    }
    this.#lanes.add(lane)
    const gone = (): void => {
      lane.isOpen = false
      lane.stopIdling()
      this.#lanes.delete(lane)
    }
    session.then((opened) => (opened ? follow(lane, opened, gone) : gone()), gone)
    return lane
  }

  #leave(lane: Lane, isCancelled: boolean): void {
    const { clock } = this.#options
    if (isCancelled) {
      clock.schedule(COOLING_MS, () => this.#leave(lane, false))
      return
    }
    lane.taken -= 1
    if (lane.taken > 0 || !lane.isOpen) return
    lane.stopIdling = clock.schedule(IDLE_FOR_MS, () => {
      lane.isOpen = false
      void lane.session.then((session) => session?.close())
    })
  }
}

function follow(lane: Lane, session: ClientHttp2Session, gone: () => void): void {
  session.on('remoteSettings', ({ maxConcurrentStreams = MOST_STREAMS }) => {
    // At least one: a request that waits for its stream has a timeout of its own.
    lane.places = Math.max(Math.min(maxConcurrentStreams, MOST_STREAMS), 1)
  })
  // Requests in flight go on, if the server lets them.
  session.once('goaway', () => {
    lane.isOpen = false
  })
  session.once('close', gone)
}
