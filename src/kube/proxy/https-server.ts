// Connections to an HTTPS server that is no API server, by HTTP/1.1. A request is sent once: the server may have acted on
// one whose answer is lost.
import type { Clock } from '../../runtime/clock.ts'
import { pacedConnector } from '../client/paced-socket.ts'
import { Pool } from '../client/undici.ts'
import { exchangeOverHttp1 } from './http1.ts'
import { headersToSend } from './sent-headers.ts'
import type { UpstreamAnswer, UpstreamCall } from './types.ts'

/** The server, and what its certificate must be issued by. */
interface HttpsServerOptions {
  /** Scheme, host and port. */
  readonly origin: string
  /** PEM; no other authority is trusted. */
  readonly ca: string
  readonly clock: Clock
}

/** Maximum bytes of the head of an answer: cookies and a policy of content take some kilobytes. */
const LONGEST_ANSWER_HEAD = 32_768

/** Maximum connections: clients that leave while one opens would make more and more of them. Further requests wait. */
const MOST_CONNECTIONS = 100

/** Open connections to one server. */
export class HttpsServer {
  readonly #clock: Clock
  readonly #pool: InstanceType<typeof Pool>

  /** Opens nothing before the first request. */
  constructor({ origin, ca, clock }: HttpsServerOptions) {
    this.#clock = clock
    this.#pool = new Pool(origin, {
      connections: MOST_CONNECTIONS,
      pipelining: 1,
      allowH2: false,
      bodyTimeout: 0,
      maxHeaderSize: LONGEST_ANSWER_HEAD,
      connect: pacedConnector({ ca, allowH2: false, timeout: CONNECTS_WITHIN_MS }),
    })
  }

  /**
   * Sends a request. Resolves with the head of the answer, of any status.
   *
   * @param credential headers of this process
   * @throws UpstreamError without an answer
   */
  async send(
    call: UpstreamCall,
    credential: Readonly<Record<string, string>>,
  ): Promise<UpstreamAnswer> {
    const headers = headersToSend(call, credential)
    return exchangeOverHttp1(this.#pool, { ...call, headers }, this.#clock, () => undefined)
  }

  /** Accepts no more requests; those under way finish. */
  async retire(): Promise<void> {
    await this.#pool.close()
  }

  /** Ends all requests. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }
}

const CONNECTS_WITHIN_MS = 5000
