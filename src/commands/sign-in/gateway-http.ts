// HTTPS to the gateway, by the authority that its certificate has now.
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type HttpClient, createHttpClient } from '../../runtime/http-client.ts'
import type { Authority } from '../../serving/tls/authority.ts'

/** Options of createGatewayHttp. */
interface GatewayHttpOptions {
  /** Origin of the gateway. */
  readonly url: string
  readonly authority: Authority
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** The client, and whether the gateway has ever answered. */
interface GatewayHttp extends Pick<HttpClient, 'get'> {
  /** Why the gateway has not been reached; null = it has been, once. */
  readonly fault: () => string | null
}

const MAX_SOCKETS = 16
const TRY_EVERY_MS = 2000
const TRY_WITHIN_MS = 2000
const LONGEST_ANSWER = 65_536

/** Creates the client. It asks the gateway until it has answered once. */
export function createGatewayHttp({
  url,
  authority,
  clock,
  signal,
}: GatewayHttpOptions): GatewayHttp {
  const reached = { once: false }
  let client: {
    readonly pem: string | null
    readonly http: HttpClient
    readonly end: AbortController
  } | null = null
  const clientFor = (pem: string | null): HttpClient => {
    if (client?.pem === pem) return client.http
    client?.end.abort()
    const end = new AbortController()
    const options = { trust: { ca: pem }, guard: null, maxSockets: MAX_SOCKETS, clock }
    const http = createHttpClient({ ...options, signal: AbortSignal.any([signal, end.signal]) })
    client = { pem, http, end }
    return http
  }
  const get: HttpClient['get'] = async (sent) => {
    const pem = await authority.current()
    try {
      const answer = await clientFor(pem).get(sent)
      reached.once = true
      return answer
    } catch (error) {
      const other = await authority.again()
      if (other === pem) throw error
      return clientFor(other).get(sent)
    }
  }
  const reach = async (): Promise<void> => {
    while (!reached.once && !signal.aborted) {
      const probe = { url: `${url}/healthz`, headers: {}, statuses: [], maxBytes: LONGEST_ANSWER }
      await get({ ...probe, withinMs: TRY_WITHIN_MS }).catch(() => undefined)
      await sleep(clock, TRY_EVERY_MS, signal)
    }
  }
  void reach()
  return {
    get,
    fault: () =>
      reached.once
        ? null
        : 'the gateway has not been reached yet (--gateway-url, --gateway-ca-file)',
  }
}
