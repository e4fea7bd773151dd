// The discovery document and the keys of a provider, read together and kept for an hour (contract 25.6).
import type { JsonMap } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { type Clock, currentMoment, type Moment, msBetween } from '../../../runtime/clock.ts'
import { shareRun } from '../../../runtime/concurrency/single-flight.ts'
import type { Outgoing } from '../outgoing.ts'
import type { IssuerRules } from './dialect.ts'
import { discoveryUrl, keysIn, metadataIn, type ProviderMetadata, type Read } from './metadata.ts'

const KEPT_FOR_MS = 3_600_000
/** How often an unknown key makes this process read the documents again, so that a forger's tokens make no flood. */
const AGAIN_AFTER_MS = 60_000

/** What a provider has published. */
export interface Published {
  readonly metadata: ProviderMetadata
  readonly keys: readonly JsonMap[]
}

/** The documents of one provider. */
export interface Discovery {
  /** The documents, an hour old at most. @throws SignInRefused */
  readonly current: () => Promise<Published>
  /**
   * The documents with the key of a token; they are read again when that key is not among them, once a minute at most.
   *
   * @param keyId null = the token names no key
   * @throws SignInRefused
   */
  readonly withKey: (keyId: string | null) => Promise<Published>
  /** Reads the documents now. @throws SignInRefused */
  readonly read: () => Promise<Published>
}

/** Options of createDiscovery. */
interface DiscoveryOptions {
  readonly issuers: IssuerRules
  /** Where discovery begins. */
  readonly configured: URL
  readonly send: Outgoing
  readonly clock: Clock
  /** Ends requests. */
  readonly signal: AbortSignal
}

/** Creates the documents of a provider; nothing is read until they are needed. */
export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { issuers, configured, send, clock, signal } = options
  let known: { readonly published: Published; readonly at: Moment } | null = null
  let triedAt: Moment | null = null

  const get = async <T>(
    url: string,
    name: string,
    parse: (body: Buffer) => Read<T>,
  ): Promise<T> => {
    const { status, body } = await send({ url, headers: JSON_ACCEPTED, body: null }, signal)
    const found =
      status === 200 ? parse(body) : { ok: false as const, fault: `came with ${status}` }
    if (!found.ok) throw new SignInRefused('provider_answer', `the ${name} ${found.fault}`)
    return found.value
  }
  const readBoth = async (): Promise<Published> => {
    const at = currentMoment(clock)
    triedAt = at
    const metadata = await get(discoveryUrl(configured), 'discovery document', (body) =>
      metadataIn(body, issuers, configured),
    )
    const published = { metadata, keys: await get(metadata.keysUrl, 'key set', keysIn) }
    known = { published, at }
    return published
  }
  const read = shareRun(readBoth)
  const current = async (): Promise<Published> => {
    const isFresh = known !== null && msBetween(known.at, currentMoment(clock)) < KEPT_FOR_MS
    return known !== null && isFresh ? known.published : read()
  }
  return {
    read,
    current,
    withKey: async (keyId) => {
      const published = await current()
      const isKnown = published.keys.some(({ kid }) => kid === keyId)
      const isTooSoon = msBetween(triedAt, currentMoment(clock)) < AGAIN_AFTER_MS
      return isKnown || isTooSoon ? published : read()
    },
  }
}

const JSON_ACCEPTED = { accept: 'application/json' }
