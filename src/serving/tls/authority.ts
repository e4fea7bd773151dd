// The authority of another process's certificate (contract 9.7, 25.1): a file that an administrator names, or the ConfigMap that
// the process keeps where it has issued its certificate itself.
import { CONFIG_MAPS } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import type { KubeClient, ObjectRef } from '../../kube/client/client.ts'
import { type Clock, withTimeout } from '../../runtime/clock.ts'
import type { Warn } from '../../runtime/log-throttle.ts'

/** The authority that is trusted. */
export interface Authority {
  /** PEM; null = there is none now, so no certificate is trusted. Never rejects. */
  current(): Promise<string | null>
  /** The same, read again: a connection has failed, perhaps as the authority was replaced. Never rejects. */
  again(): Promise<string | null>
}

/** Options of PublishedAuthority. */
interface PublishedAuthorityOptions {
  readonly client: Pick<KubeClient, 'get'>
  readonly configMap: Required<ObjectRef>
  readonly clock: Clock
  readonly warn: Warn
}

/** A ConfigMap that was read is used for this time. */
const READ_EVERY_MS = 60_000
/** Connections that fail cause one read in this time at most. */
const READ_AGAIN_AFTER_MS = 1000
const READ_WITHIN_MS = 5000

/** The data key of the ConfigMap. */
export const AUTHORITY_DATA_KEY = 'ca.crt'

/** The authority in a ConfigMap, data key `ca.crt`. While it can't be read, the one that was read last counts. */
export class PublishedAuthority implements Authority {
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
    const { client, configMap, clock, warn } = this.#options
    this.#triedMs = clock.monotonicMs()
    try {
      const stored = await withTimeout(clock, READ_WITHIN_MS, (signal) =>
        client.get<ConfigMap>(CONFIG_MAPS, configMap, signal),
      )
      this.#pem = stored?.data?.[AUTHORITY_DATA_KEY] ?? null
    } catch (err) {
      warn(
        'authority',
        { err, configMap: configMap.name },
        'the authority of a certificate cannot be read',
      )
    }
  }
}

/** The authority in a file that is followed. */
export const fileAuthority = (text: () => string | null): Authority => ({
  current: async () => text(),
  again: async () => text(),
})
