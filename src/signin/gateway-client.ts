// How the sign-in process asks the gateway about a key: with that key, as its holder would. It may read no key itself.
import { ACCESS_KEYS, KEY_EXPIRES_HEADER, MANAGEMENT_PATH } from '../api/names.ts'
import { parseTimestamp } from '../domain/time.ts'
import { pathOf } from '../kube/client/client.ts'
import { type Clock, sleep } from '../runtime/clock.ts'
import type { HttpClient } from '../runtime/http-client.ts'

/** What the gateway says of a key that it takes. */
interface AcceptedKey {
  /** When the key ends, in epoch milliseconds; null = not by time. */
  readonly endsMs: number | null
}

/** Asks the gateway. */
export interface GatewayClient {
  /** What the gateway says of a key now; null = the key does not work, or the gateway does not answer. */
  readonly askAbout: (name: string, accessKey: string) => Promise<AcceptedKey | null>
  /** As askAbout, once the gateway knows a new key: it asks again for two seconds. */
  readonly awaitKey: (name: string, accessKey: string) => Promise<AcceptedKey | null>
}

/** Options of createGatewayClient. */
interface GatewayClientOptions {
  /** Origin of the gateway (`--gateway-url`). */
  readonly url: string
  readonly http: Pick<HttpClient, 'get'>
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** How long a new key may take to reach the gateway. */
const READ_BACK_MS = 2000
const PAUSE_MS = 50
/** An own key is a small object. */
const LONGEST_ANSWER = 262_144

/** Creates the client. */
export function createGatewayClient({
  url,
  http,
  clock,
  signal,
}: GatewayClientOptions): GatewayClient {
  const ask = async (
    name: string,
    accessKey: string,
    withinMs: number,
  ): Promise<AcceptedKey | null> => {
    try {
      const { status, headers } = await http.get({
        url: new URL(`${MANAGEMENT_PATH}${pathOf(ACCESS_KEYS, { name })}`, url).href,
        headers: { authorization: `Bearer ${accessKey}`, accept: 'application/json' },
        statuses: [200],
        maxBytes: LONGEST_ANSWER,
        withinMs,
      })
      if (status !== 200) return null
      const ends = headers[KEY_EXPIRES_HEADER]
      return { endsMs: typeof ends === 'string' ? parseTimestamp(ends) : null }
    } catch {
      return null
    }
  }
  return {
    askAbout: (name, accessKey) => ask(name, accessKey, READ_BACK_MS),
    awaitKey: async (name, accessKey) => {
      const startedMs = clock.monotonicMs()
      for (;;) {
        const leftMs = READ_BACK_MS - (clock.monotonicMs() - startedMs)
        if (leftMs <= 0 || signal.aborted) return null
        const accepted = await ask(name, accessKey, leftMs)
        if (accepted !== null) return accepted
        await sleep(clock, PAUSE_MS, signal)
      }
    },
  }
}
