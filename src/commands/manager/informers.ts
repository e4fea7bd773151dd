import type { Resource } from '../../api/names.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { AllOf, WatchedCollection } from '../../kube/controller/definition.ts'
import { type InformerFactory, createInformerFactory } from '../../kube/informer/informers.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import { type FollowedCaps, followCaps } from '../../settings/caps.ts'
import { type FollowedIssuer, followIssuer } from '../../settings/issuer.ts'
import type { ClientMetrics } from '../shared/client-metrics.ts'
import { CONTROLLERS } from './controllers.ts'
import type { ManagerSettings } from './flags.ts'

/** The collections that all controllers together have watched, by the name of their store. */
type Collections = AllOf<(typeof CONTROLLERS)[number]['watches']>

/** The objects of the cluster that the manager watches. */
export type Stores = {
  readonly [Name in keyof Collections]: ReturnType<Collections[Name]['createStore']>
}

const COLLECTIONS = CONTROLLERS.flatMap(({ watches }) => Object.entries<WatchedCollection>(watches))

/** The resources that the manager watches. */
export const WATCHED: readonly Resource[] = [
  ...new Set(COLLECTIONS.map(([, { resource }]) => resource)),
]

/** Creates empty stores, with the indexes that the controllers use. */
export const createStores = (): Stores =>
  Object.fromEntries(COLLECTIONS.map(([name, { createStore }]) => [name, createStore()])) as Stores

/** The parts of a process that startManagerInformers uses. */
interface WatchingProcess {
  readonly settings: Pick<ManagerSettings, 'namespace' | 'configName' | 'issuerUrl'>
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Pick<Lifecycle, 'stopping'>
  readonly metrics: Pick<ClientMetrics, 'watchRestarted'>
}

/** The informers of the manager, and the caps and issuer that they keep up to date. */
export interface ManagerInformers {
  readonly caps: FollowedCaps
  readonly issuer: FollowedIssuer
  /** As in InformerFactory. */
  readonly unserved: InformerFactory['unserved']
  readonly stuck: InformerFactory['stuck']
}

/** Starts the informers that fill the stores; they end when the process stops. */
export function startManagerInformers(
  { settings, clock, log, lifecycle, metrics }: WatchingProcess,
  client: KubeClient,
  stores: Stores,
): ManagerInformers {
  const { startInformer, unserved, stuck } = createInformerFactory({
    client,
    clock,
    log,
    restarted: metrics.watchRestarted,
    signal: lifecycle.stopping,
  })
  const { namespace, configName, issuerUrl: flag } = settings
  const { configs, configMaps } = stores
  for (const [name, { resource, query }] of COLLECTIONS)
    startInformer(resource, stores[name as keyof Stores], query(settings))
  return {
    caps: followCaps({ configs, configMaps, configName, namespace, log }),
    issuer: followIssuer({ configs, configMaps, flag, configName, namespace, log }),
    unserved,
    stuck,
  }
}
