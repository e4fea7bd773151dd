import type { Config } from '../../api/config.gen.ts'
import { CONFIGS, CONFIG_MAPS } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import { type FollowedJwks, followJwks } from '../../authn/jwks.ts'
import { FRESH_FOR_MS, READ_TIMEOUT_MS, RENEW_AFTER_MS } from '../../authn/staleness.ts'
import {
  gatewaySwitchesInForce,
  platformHostInForce,
} from '../../domain/settings/effective-settings.ts'
import { createClient } from '../../kube/client/client.ts'
import { listMetadata } from '../../kube/client/namespace-content.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import { type InformerFactory, createInformerFactory } from '../../kube/informer/informers.ts'
import { createListComparison } from '../../kube/informer/relist-diff.ts'
import { type FullObject, Store, fullObject } from '../../kube/informer/store.ts'
import { type Moment, currentMoment } from '../../runtime/clock.ts'
import { startPoller } from '../../runtime/concurrency/poller.ts'
import { followSettings, platformConfigMap } from '../../settings/follow.ts'
import { type FollowedIssuer, followIssuer } from '../../settings/issuer.ts'
import type { GatewayProcess } from './metrics.ts'

/** The informers of the gateway, and the settings, issuer and public signing keys that they keep up to date. */
export interface GatewayInformers {
  readonly stores: {
    readonly configs: Store<FullObject<Config>>
    /** All ConfigMaps of the platform's namespace; those of others without their data. */
    readonly configMaps: Store<FullObject<ConfigMap>>
  }
  readonly issuer: FollowedIssuer
  readonly jwks: FollowedJwks
  /** `platformHost` of the settings in force; null = not set, or not known yet. */
  readonly platformHost: () => string | null
  /** `projectNamespacePrefix` of the settings in force, also by default; null = not known yet. */
  readonly projectNamespacePrefix: () => string | null
  /** Whether settings in force have been seen. */
  readonly settingsSeen: () => boolean
  /** When the ConfigMaps were last known to be complete, in epoch milliseconds; null = never. */
  readonly configMapsAsOfMs: () => number | null
  /** Milliseconds since the ConfigMaps were last known to be complete, or since the start. */
  readonly ageMs: () => number
  /** Starts the informer of another resource. */
  readonly startInformer: InformerFactory['startInformer']
  /** Makes the watches of Configs and ConfigMaps list again, because they have missed a change. */
  readonly relistSettings: () => void
  /** As in InformerFactory. */
  readonly unserved: InformerFactory['unserved']
  readonly stuck: InformerFactory['stuck']
  /** Calls the listener once both stores are synced, and whenever settings or issuer may have changed. */
  readonly subscribe: (listener: () => void) => void
}

/** Starts the informers of Configs and ConfigMaps. */
export function startGatewayInformers(self: GatewayProcess, deps: ClientDeps): GatewayInformers {
  const { settings, clock, log, metrics, lifecycle } = self
  const { configName, namespace, issuerUrl: flag } = settings
  const stores = {
    configs: new Store(fullObject<Config>),
    configMaps: new Store(platformConfigMap),
  }
  const issuer = followIssuer({ ...stores, flag, configName, namespace, log })
  const jwks = followJwks(stores.configMaps, namespace, log)
  const listeners: (() => void)[] = []
  let platformHost: string | null = null
  let projectNamespacePrefix: string | null = null
  let settingsSeen = false
  let completeAsOfMs: number | null = null
  // Before the first complete list, this is the time of the start.
  let completeMonotonicMs = clock.monotonicMs()
  followSettings({ ...stores, configName, namespace }, (observed) => {
    settingsSeen ||= observed.known
    if (observed.known) platformHost = platformHostInForce(observed)
    projectNamespacePrefix =
      gatewaySwitchesInForce(observed)?.projectNamespacePrefix ?? projectNamespacePrefix
    for (const listener of listeners) listener()
  })
  const { startInformer, unserved, stuck } = createInformerFactory({
    client: createClient(deps),
    clock,
    log,
    restarted: metrics.watchRestarted,
    signal: lifecycle.stopping,
  })
  const completeAt = ({ wallMs, monotonicMs }: Moment): void => {
    completeAsOfMs = Math.max(wallMs, completeAsOfMs ?? wallMs)
    completeMonotonicMs = Math.max(monotonicMs, completeMonotonicMs)
  }
  const informers = [
    startInformer(CONFIGS, stores.configs, {}),
    startInformer(CONFIG_MAPS, stores.configMaps, { namespace }, () =>
      completeAt(currentMoment(clock)),
    ),
  ]
  const [, configMaps] = informers
  proveComplete(self, deps, {
    store: stores.configMaps,
    completeAt,
    relist: () => configMaps?.relist(),
  })
  return {
    stores,
    issuer,
    jwks,
    platformHost: () => platformHost,
    projectNamespacePrefix: () => projectNamespacePrefix,
    settingsSeen: () => settingsSeen,
    configMapsAsOfMs: () => completeAsOfMs,
    ageMs: () => clock.monotonicMs() - completeMonotonicMs,
    startInformer,
    relistSettings: () => {
      for (const { relist } of informers) relist()
    },
    unserved,
    stuck,
    subscribe: (listener) => void listeners.push(listener),
  }
}

/** A store of the ConfigMaps, and who hears of its completeness. */
interface CompletenessProof {
  readonly store: Store<FullObject<ConfigMap>>
  /** Called with a moment up to which the store has everything. */
  readonly completeAt: (moment: Moment) => void
  readonly relist: () => void
}

/**
 * Compares the ConfigMaps with those of the API server every five seconds, by names and versions: the list of revoked
 * tokens is as old as the last proof (contract 7.4), and bookmarks come once a minute only. What two comparisons in a
 * row find missing, the watch has missed.
 */
function proveComplete(
  { settings: { namespace }, clock, log, lifecycle }: GatewayProcess,
  deps: ClientDeps,
  { store, completeAt, relist }: CompletenessProof,
): void {
  const compareWith = createListComparison()
  const compare = async (abort: AbortSignal): Promise<void> => {
    if (!store.synced) return
    const started = currentMoment(clock)
    const listed = await listMetadata(deps, CONFIG_MAPS, { namespace }, abort)
    const found = compareWith(store.values(), listed)
    if (found === 'complete') completeAt(started)
    if (found !== 'broken') return
    log.warn({ resource: CONFIG_MAPS.plural }, 'a watch has missed a change, listing again')
    relist()
  }
  startPoller({
    what: 'records',
    clock,
    log,
    read: compare,
    signal: lifecycle.stopping,
    everyMs: RENEW_AFTER_MS,
    freshForMs: FRESH_FOR_MS,
    reuseForMs: 0,
    timeoutMs: READ_TIMEOUT_MS,
  })
}
