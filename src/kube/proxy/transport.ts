// The protocol of a request: HTTP/2 where the server chooses it, else HTTP/1.1. HTTP/2 leaves no doubt about
// framing, and many watches share a connection. It is Node's own: undici's joins repeated headers, which would
// make one unknown group of a caller's groups.
// bench/upstream.ts compares them.
import type { Clock } from '../../runtime/clock.ts'
import type { OpenConnection, Tls } from '../client/connection.ts'
import { exchangeOverHttp1 } from './http1.ts'
import { Http2Pool } from './http2-pool.ts'
import type { UpstreamAnswer, UpstreamCall } from './types.ts'

/** Carries requests to one server. */
export interface UpstreamTransport {
  /** @throws Unanswered */
  readonly send: (open: OpenConnection, call: UpstreamCall) => Promise<UpstreamAnswer>
  /** Ends requests by HTTP/2; the connection owns the pools of HTTP/1.1. */
  readonly close: () => void
}

interface Held {
  readonly tls: Tls
  readonly sessions: Http2Pool
  speaksHttp2: boolean
}

/** Carries requests with the present certificate; those in flight with a former one finish. */
export function createTransport(clock: Clock): UpstreamTransport {
  let held: Held | null = null
  let former: readonly Http2Pool[] = []

  const heldFor = ({ origin, tls }: OpenConnection): Held => {
    if (held?.tls === tls) return held
    held?.sessions.retire()
    former = [...former, ...(held ? [held.sessions] : [])].filter(({ isEmpty }) => !isEmpty)
    const speaksHttp2 = origin.startsWith('https:')
    held = { tls, sessions: new Http2Pool({ origin, tls, clock }), speaksHttp2 }
    return held
  }

  return {
    send: async (open, call) => {
      const now = heldFor(open)
      const answer = now.speaksHttp2 ? await now.sessions.send(call) : null
      if (answer) return answer
      now.speaksHttp2 = false
      return exchangeOverHttp1(open.forwards, call)
    },
    close: () => {
      for (const sessions of [...former, ...(held ? [held.sessions] : [])]) sessions.close()
    },
  }
}
