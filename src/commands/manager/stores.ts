import type { Config } from '../../api/config.gen.ts'
import type { ConfigMap, Secret } from '../../api/core.ts'
import {
  ACCESS_KEYS,
  CONFIG_MAPS,
  CONFIGS,
  IN_FORCE_CONFIG_MAP,
  type Resource,
  SECRETS,
} from '../../api/group.ts'
import type { KubeObject } from '../../api/meta.ts'
import { KEY_INDEXERS } from '../../controllers/ownedaccesskey/order.ts'
import { type FollowedCaps, followCaps } from '../../credentials/caps.ts'
import { digestOf } from '../../credentials/digest.ts'
import { type AccessKey, accessKeyOf, type OwnedAccessKeyObject } from '../../domain/access-key.ts'
import type { KubeClient, ListQuery } from '../../kube/client.ts'
import { type Sink, Store, type Whole, whole } from '../../kube/store.ts'
import { watchForever } from '../../kube/watcher.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { ManagerSettings } from '../../runtime/settings.ts'

/** What the manager knows of the cluster. `secrets` and `records` hold one object each at most. */
export interface Stores {
  readonly keys: Store<AccessKey>
  readonly configs: Store<Whole<Config>>
  readonly secrets: Store<Whole<Secret>>
  readonly records: Store<Whole<ConfigMap>>
}

/** The resources watched. */
export const WATCHED: readonly Resource[] = [ACCESS_KEYS, CONFIGS, SECRETS, CONFIG_MAPS]

/** Empty stores. */
export function createStores(): Stores {
  const keyOf = (object: KubeObject): AccessKey =>
    accessKeyOf(object as OwnedAccessKeyObject, digestOf)
  return {
    keys: new Store(keyOf, KEY_INDEXERS),
    configs: new Store(whole<Config>),
    secrets: new Store(whole<Secret>),
    records: new Store(whole<ConfigMap>),
  }
}

/** What followStores stands on; watches end when the signal aborts. */
export interface FollowOptions {
  readonly settings: ManagerSettings
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly signal: AbortSignal
}

/** What following the stores tells. */
export interface Following {
  readonly caps: FollowedCaps
  /** Plurals of our kinds that the API server does not serve. */
  absent(): readonly string[]
}

/** Watches everything that the stores hold, from now on. */
export function followStores(stores: Stores, options: FollowOptions): Following {
  const { settings, client, clock, log, metrics, signal } = options
  const absent = new Set<string>()
  const follow = (resource: Resource, sink: Sink, query: ListQuery): void => {
    const { plural } = resource
    const served = (isServed: boolean): void => {
      if (isServed) absent.delete(plural)
      else if (!absent.has(plural))
        log.warn(
          { resource: plural },
          'resource is not served, waiting: install the CRDs with kubectl apply -k crds',
        )
      if (!isServed) absent.add(plural)
    }
    const restarted = (reason: string): void => metrics.watchRestarted(plural, reason)
    void watchForever({ client, resource, query, sink, clock, log, served, restarted }, signal)
  }
  const { namespace, configName } = settings
  follow(ACCESS_KEYS, stores.keys, {})
  follow(CONFIGS, stores.configs, {})
  follow(SECRETS, stores.secrets, { namespace, fieldSelector: `metadata.name=${configName}` })
  follow(CONFIG_MAPS, stores.records, {
    namespace,
    fieldSelector: `metadata.name=${IN_FORCE_CONFIG_MAP}`,
  })
  return {
    caps: followCaps({ ...stores, configName, log }),
    absent: () => [...absent],
  }
}
