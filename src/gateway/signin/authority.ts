// The authority of the sign-in process's certificate (contract 25.1): a file that an administrator names, or the ConfigMap that
// the process keeps where it has issued its certificate itself.
import { CONFIG_MAPS, SIGN_IN_CA_CONFIG_MAP } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Clock, withTimeout } from '../../runtime/clock.ts'
import type { Warn } from '../../runtime/log-throttle.ts'

/** The authority that is trusted. */
export interface SignInAuthority {
  /** PEM; null = there is none now, so no certificate is trusted. Never rejects. */
  current(): Promise<string | null>
  /** The same, read again: a connection has failed, perhaps as the authority was replaced. Never rejects. */
  again(): Promise<string | null>
}

/** Options of PublishedAuthority. */
interface PublishedAuthorityOptions {
  readonly client: Pick<KubeClient, 'get'>
  /** The sign-in namespace. */
  readonly namespace: string
  readonly clock: Clock
  readonly warn: Warn
}

/** A ConfigMap that was read is used for this time. */
const READ_EVERY_MS = 60_000
/** Connections that fail cause one read in this time at most. */
const READ_AGAIN_AFTER_MS = 1000
const READ_WITHIN_MS = 5000

const DATA_KEY = 'ca.crt'

/** The authority in ConfigMap platform-sign-in-ca. While it can't be read, the one that was read last counts. */
export class PublishedAuthority implements SignInAuthority {
  readonly #options: PublishedAuthorityOptions
  #pem: string | null = null
  #triedMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> = Promise.resolve()

  constructor(options: PublishedAuthorityOptions) {
    this.#options = options
  }

  /** Waits for the first read alone: signing in goes on while the API server is away. */
  async current(): Promise<string | null> {
    this.#readAfter(this.#pem === null ? READ_AGAIN_AFTER_MS : READ_EVERY_MS)
    if (this.#pem === null) await this.#reading
    return this.#pem
  }

  async again(): Promise<string | null> {
    this.#readAfter(READ_AGAIN_AFTER_MS)
    await this.#reading
    return this.#pem
  }

  #readAfter(ageMs: number): void {
    if (this.#options.clock.monotonicMs() - this.#triedMs >= ageMs) this.#reading = this.#readNow()
  }

  async #readNow(): Promise<void> {
    const { client, namespace, clock, warn } = this.#options
    this.#triedMs = clock.monotonicMs()
    try {
      const stored = await withTimeout(clock, READ_WITHIN_MS, (signal) =>
        client.get<ConfigMap>(CONFIG_MAPS, { name: SIGN_IN_CA_CONFIG_MAP, namespace }, signal),
      )
      this.#pem = stored?.data?.[DATA_KEY] ?? null
    } catch (err) {
      warn('authority', { err }, 'the authority of the sign-in process cannot be read')
    }
  }
}

/** The authority in a file that is followed. */
export const fileAuthority = (text: () => string | null): SignInAuthority => ({
  current: async () => text(),
  again: async () => text(),
})
