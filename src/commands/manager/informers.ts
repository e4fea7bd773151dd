import type { Resource } from '../../api/names.ts'
import { createClient } from '../../kube/client/client.ts'
import { isAllowed } from '../../kube/client/own-access.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { AllOf, WatchedCollection } from '../../kube/controller/definition.ts'
import { startWhenAllowed } from '../../kube/informer/allowed-informer.ts'
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

/** Names of the stores without which the manager is not ready. */
export const NEEDED_STORES: readonly (keyof Stores)[] = COLLECTIONS.flatMap(
  ([name, { optionalName }]) => (optionalName === undefined ? [name as keyof Stores] : []),
)

/** Creates empty stores, with the indexes that the controllers use. */
export const createStores = (): Stores =>
  Object.fromEntries(COLLECTIONS.map(([name, { createStore }]) => [name, createStore()])) as Stores

/** The parts of a process that startManagerInformers uses. */
interface WatchingProcess {
  readonly settings: Pick<
    ManagerSettings,
    'namespace' | 'signInNamespace' | 'configName' | 'issuerUrl'
  >
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

/**
 * Starts the informers that fill the stores; they end when the process stops.
 *
 * @param deps of the manager's client. A standby asks for its own rights too, which is no write
 */
export function startManagerInformers(
  { settings, clock, log, lifecycle, metrics }: WatchingProcess,
  deps: ClientDeps,
  stores: Stores,
): ManagerInformers {
  const signal = lifecycle.stopping
  const { startInformer, unserved, stuck } = createInformerFactory({
    client: createClient(deps),
    clock,
    log,
    restarted: metrics.watchRestarted,
    signal,
  })
  const asking = { ...deps, mayWrite: () => undefined }
  const { namespace: ownNamespace, configName, issuerUrl: flag } = settings
  const { configs, configMaps } = stores
  for (const [store, { resource, query: of, optionalName: name }] of COLLECTIONS) {
    const query = of(settings)
    const start = (): void => void startInformer(resource, stores[store as keyof Stores], query)
    if (name === undefined) {
      start()
      continue
    }
    const asked = { verb: 'watch', resource, namespace: query.namespace ?? ownNamespace, name }
    const allowed = (until: AbortSignal): Promise<boolean> => isAllowed(asking, asked, until)
    void startWhenAllowed({ isAllowed: allowed, start, clock, log, signal })
  }
  const sources = { configs, configMaps, configName, namespace: ownNamespace, log }
  return { caps: followCaps(sources), issuer: followIssuer({ ...sources, flag }), unserved, stuck }
}
