// The data store of the gateway's audit log: its settings, followed, and what is said of it (contract 6.8, 22.3).
import { hostname } from 'node:os'
import type { AuditSettings } from '../../api/config.gen.ts'
import type { MetricName } from '../../api/metrics.ts'
import { GATEWAY_SETTINGS_SECRET, SECRETS } from '../../api/names.ts'
import { type Secret, secretText } from '../../api/objects.ts'
import { DataStoreFeed, feedSettingsOf } from '../../audit/data-store-feed.ts'
import { STORE_RESULTS, type StoreResult } from '../../audit/follower/follower.ts'
import { dataStoreEndpointIn } from '../../domain/settings/secret-settings.ts'
import type { QueriedStore } from '../../gateway/audit/event-queries.ts'
import type { InformerFactory } from '../../kube/informer/informers.ts'
import { type FullObject, fullObject, Store } from '../../kube/informer/store.ts'
import { type Instruments, scrapeSource } from '../../runtime/metrics.ts'
import type { CommandProcess } from '../shared/process.ts'
import type { GatewaySettings } from './flags.ts'

/** The metrics of the data store, with a method for each event that they count. */
export interface DataStoreMetrics {
  readonly storeCounted: (result: StoreResult, count: number) => void
  /** Sets the function that each scrape reads the lag from. */
  readonly followStoreLag: (read: () => number) => void
}

/** Creates the metrics, all at zero. */
export function dataStoreMetrics(make: Instruments<MetricName>): DataStoreMetrics {
  const events = make.counter(
    'platform_audit_store_events_total',
    STORE_RESULTS.map((result) => ({ result })),
  )
  const lag = scrapeSource(() => 0)
  make.gauge('platform_audit_store_lag_seconds', [{}], lag.read)
  return {
    storeCounted: (result, count) => events.inc({ result }, count),
    followStoreLag: lag.follow,
  }
}

/** A data store that follows the settings. */
interface StartedDataStore {
  /** Applies the settings in force, without their secrets. */
  readonly apply: (settings: AuditSettings) => void
  /** The store to ask; null = none is in use. */
  readonly queried: () => QueriedStore | null
}

const STOPS_WITHIN_MS = 6000

/** Starts the data store, which connects to nothing until settings are applied and the Secret names an endpoint. */
export function startDataStore(
  self: CommandProcess<Pick<GatewaySettings, 'audit' | 'namespace'>, DataStoreMetrics>,
  startInformer: InformerFactory['startInformer'],
): StartedDataStore {
  const { lifecycle, metrics, settings } = self
  const { subdirectory } = settings.audit
  const source = subdirectory ?? hostname()
  const feed = createFeed(self, source)
  metrics.followStoreLag(() => feed.lagSeconds())
  lifecycle.onStop('data store', STOPS_WITHIN_MS, () => feed.end())
  let audit: AuditSettings = {}
  let endpoint = ''
  const apply = (): void => feed.apply(feedSettingsOf({ audit, endpoint, subdirectory }))
  followEndpoint(settings.namespace, startInformer, (found) => {
    endpoint = found
    apply()
  })
  return {
    apply: (applied) => {
      audit = applied
      apply()
    },
    queried: () => {
      const { current } = feed
      if (current === null) return null
      const { store, endpoint: used } = current
      const replica = used.kind === 'sqlite' ? source : ''
      return { queryEvents: (query) => store.queryEvents(query), replica }
    },
  }
}

/** Calls the listener with the endpoint in the Secret of the gateway, whenever that changes; empty = it has none. */
function followEndpoint(
  namespace: string,
  startInformer: InformerFactory['startInformer'],
  listener: (endpoint: string) => void,
): void {
  const secrets = new Store(fullObject<Secret>)
  const notify = (): void => {
    if (secrets.synced) listener(endpointIn(secrets.get(GATEWAY_SETTINGS_SECRET, namespace)))
  }
  secrets.subscribe(notify)
  secrets.whenSynced(notify)
  startInformer(SECRETS, secrets, {
    namespace,
    fieldSelector: `metadata.name=${GATEWAY_SETTINGS_SECRET}`,
  })
}

const endpointIn = (stored: FullObject<Secret> | undefined): string =>
  dataStoreEndpointIn(secretText(stored?.object, 'config') ?? '') ?? ''

/** The feed, whose log says once when the store can't be used, and once when it can be again. */
function createFeed(
  { clock, log, metrics }: CommandProcess<unknown, DataStoreMetrics>,
  source: string,
): DataStoreFeed {
  return new DataStoreFeed({
    source,
    clock,
    observer: {
      counted: metrics.storeCounted,
      failed: (err) =>
        log.error(
          { err },
          'the data store of the audit log cannot be used: events wait in the files',
        ),
      healed: () => log.info({}, 'the data store of the audit log can be used again'),
      retentionFailed: (err) =>
        log.warn({ err }, 'old events cannot be deleted from the data store of the audit log'),
    },
  })
}
