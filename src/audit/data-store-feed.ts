// The data store in use: filled from the files of the log, kept as long as the settings say (contract 22.3).
import type { AuditSettings } from '../api/config.gen.ts'
import { auditPolicyOf } from '../domain/audit/policy.ts'
import { parseStoreEndpoint, type StoreEndpoint } from '../domain/settings/store-endpoint.ts'
import type { Clock } from '../runtime/clock.ts'
import { folderOf } from './files/directory.ts'
import { STANDARD_OUTPUT } from './files/sink.ts'
import { AuditFollower, type FollowerObserver } from './follower/follower.ts'
import { DataStore } from './store/data-store.ts'
import { keepRetention } from './store/keep-retention.ts'

/** The settings of a data store. */
interface FeedSettings {
  readonly endpoint: StoreEndpoint
  /** Where `audit.log` and its backups are. */
  readonly directory: string
  /** How long events are kept, in hours; 0 = for ever. */
  readonly ttlHours: number
}

/** Where the settings of a data store come from. */
interface FeedSources {
  /** The settings in force, without secrets. */
  readonly audit: AuditSettings
  /** The setting `dataStoreEndpoint`; empty = it is not set. */
  readonly endpoint: string
  /** The folder below `path` for the files of this replica; null = none. */
  readonly subdirectory: string | null
}

/** The settings of the data store; null = none is used: nothing is recorded, or there are no files, or no endpoint. */
export function feedSettingsOf({
  audit,
  endpoint: text,
  subdirectory,
}: FeedSources): FeedSettings | null {
  const { path = '', dataStoreTTL = 0 } = audit
  if (text === '' || path === STANDARD_OUTPUT || auditPolicyOf(audit) === null) return null
  const { endpoint } = parseStoreEndpoint(text)
  return (
    endpoint && { endpoint, directory: folderOf({ path, subdirectory }), ttlHours: dataStoreTTL }
  )
}

/** Dependencies of a DataStoreFeed. */
interface DataStoreFeedOptions {
  /** The replica. */
  readonly source: string
  readonly clock: Clock
  readonly observer: FollowerObserver & {
    /** Old events can't be deleted; the next attempt is in its time. @param cause may be logged */
    readonly retentionFailed: (cause: unknown) => void
  }
}

/** A store with the follower that fills it. */
interface Feed {
  readonly settings: FeedSettings
  readonly store: DataStore
  readonly follower: AuditFollower
  /** Ends it, its connections last. */
  readonly stop: () => Promise<void>
}

/** How long the store has to take what was written to a directory before the path changed, in milliseconds. */
const CATCH_UP_WITHIN_MS = 60_000

/** The data store of a process, by the settings in force. */
export class DataStoreFeed {
  readonly #options: DataStoreFeedOptions
  #feed: Feed | null = null
  #ttlHours = 0
  /** The end of the feeds before this one: one at a time writes the position of this replica. */
  #before: Promise<void> = Promise.resolve()

  constructor(options: DataStoreFeedOptions) {
    this.#options = options
  }

  /** The store in use, and its endpoint; null = none. */
  get current(): (Pick<Feed, 'store'> & Pick<FeedSettings, 'endpoint'>) | null {
    return this.#feed && { store: this.#feed.store, endpoint: this.#feed.settings.endpoint }
  }

  /** As of the follower; 0 without a store. */
  lagSeconds(): number {
    return this.#feed?.follower.lagSeconds() ?? 0
  }

  /** Applies settings. Where the store stays and the files go elsewhere, it first takes what those before have. */
  apply(settings: FeedSettings | null): void {
    this.#ttlHours = settings?.ttlHours ?? 0
    const feed = this.#feed
    if (feed !== null && settings !== null && isSameFeed(feed.settings, settings)) return
    const isMoved = settings === null || sameEndpoint(feed?.settings, settings)
    if (feed !== null) this.#before = this.#endOf(feed, isMoved)
    this.#feed = settings && this.#start(settings)
  }

  /** Ends the follower and its connections. Lines that are not stored by then are at the next start. */
  async end(): Promise<void> {
    await this.#feed?.stop()
    this.#feed = null
  }

  async #endOf({ follower, stop }: Feed, isMoved: boolean): Promise<void> {
    if (isMoved) await follower.caughtUp(CATCH_UP_WITHIN_MS)
    await stop()
  }

  #start(settings: FeedSettings): Feed {
    const { source, clock, observer } = this.#options
    const { endpoint, directory } = settings
    const store = new DataStore(endpoint, clock)
    const follower = new AuditFollower({ store, directory, source, clock, observer })
    const stopping = new AbortController()
    const { signal } = stopping
    const failed = observer.retentionFailed
    const retention = { store, ttlHours: () => this.#ttlHours, clock, failed }
    const run = async (before: Promise<void>): Promise<void> => {
      await before
      await Promise.all([follower.run(signal), keepRetention(retention, signal)])
    }
    const running = run(this.#before)
    const stop = async (): Promise<void> => {
      stopping.abort()
      await running
      await store.close()
    }
    return { settings, store, follower, stop }
  }
}

const isSameFeed = (a: FeedSettings, b: FeedSettings): boolean =>
  a.directory === b.directory && sameEndpoint(a, b)

const sameEndpoint = (a: FeedSettings | undefined, b: FeedSettings): boolean =>
  JSON.stringify(a?.endpoint) === JSON.stringify(b.endpoint)
