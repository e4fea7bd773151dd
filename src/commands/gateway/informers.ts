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
import { type Clock, type Moment, currentMoment } from '../../runtime/clock.ts'
import { startPoller } from '../../runtime/concurrency/poller.ts'
import { type SettingsSources, followSettings, platformConfigMap } from '../../settings/follow.ts'
import { type FollowedIssuer, followIssuer } from '../../settings/issuer.ts'
import type { GatewayProcess } from './metrics.ts'

/** The informers of the gateway, and the settings, issuer and public signing keys that they keep up to date. */
export interface GatewayInformers {
  readonly stores: {
    readonly configs: Store<FullObject<Config>>
    /** All ConfigMaps of the platform's namespace, without the data of ConfigMaps that are not the platform's. */
    readonly configMaps: Store<FullObject<ConfigMap>>
  }
  readonly issuer: FollowedIssuer
  readonly jwks: FollowedJwks
  readonly inForce: FollowedSettings
  readonly completeness: Completeness
  /** Starts the informer of another resource. */
  readonly startInformer: InformerFactory['startInformer']
  /** Makes the watches of Configs and ConfigMaps list again, because they have missed a change. */
  readonly relistSettings: () => void
  /** As in InformerFactory. */
  readonly unserved: InformerFactory['unserved']
  readonly stuck: InformerFactory['stuck']
}

/** The settings in force, as far as pages and certificate need them. */
interface FollowedSettings {
  /** null = not set, or not known yet. */
  readonly platformHost: () => string | null
  /** The default where it is not set; null = not known yet. */
  readonly projectNamespacePrefix: () => string | null
  /** Whether the watches have delivered settings in force. */
  readonly isKnown: () => boolean
  /** Calls the listener once both stores are synced, and whenever settings or issuer may have changed. */
  readonly subscribe: (listener: () => void) => void
}

/** Up to when the store of ConfigMaps is proven complete. */
interface Completeness {
  /** Records a moment up to which the store has every change. */
  readonly proved: (moment: Moment) => void
  /** The last such moment in epoch milliseconds; null = there is none yet. */
  readonly asOfMs: () => number | null
  /** Milliseconds since the last such moment, or since the start. */
  readonly ageMs: () => number
}

/** Starts the informers of Configs and ConfigMaps. */
export function startGatewayInformers(self: GatewayProcess, deps: ClientDeps): GatewayInformers {
  const { settings, clock, log, metrics, lifecycle } = self
  const { configName, namespace, issuerUrl: flag } = settings
  const configs = new Store(fullObject<Config>)
  const configMaps = new Store(platformConfigMap)
  const issuer = followIssuer({ configs, configMaps, flag, configName, namespace, log })
  const jwks = followJwks(configMaps, namespace, log)
  const inForce = followSettingsInForce({ configs, configMaps, configName, namespace })
  const completeness = createCompleteness(clock)
  const { startInformer, unserved, stuck } = createInformerFactory({
    client: createClient(deps),
    clock,
    log,
    restarted: metrics.watchRestarted,
    signal: lifecycle.stopping,
  })
  const configInformer = startInformer(CONFIGS, configs, {})
  const configMapInformer = startInformer(CONFIG_MAPS, configMaps, { namespace }, () =>
    completeness.proved(currentMoment(clock)),
  )
  proveComplete(self, deps, {
    store: configMaps,
    proved: completeness.proved,
    relist: configMapInformer.relist,
  })
  return {
    stores: { configs, configMaps },
    issuer,
    jwks,
    inForce,
    completeness,
    startInformer,
    relistSettings: () => {
      configInformer.relist()
      configMapInformer.relist()
    },
    unserved,
    stuck,
  }
}

function followSettingsInForce(sources: SettingsSources): FollowedSettings {
  const listeners: (() => void)[] = []
  let platformHost: string | null = null
  let projectNamespacePrefix: string | null = null
  let isKnown = false
  followSettings(sources, (observed) => {
    isKnown ||= observed.known
    if (observed.known) platformHost = platformHostInForce(observed)
    projectNamespacePrefix =
      gatewaySwitchesInForce(observed)?.projectNamespacePrefix ?? projectNamespacePrefix
    for (const listener of listeners) listener()
  })
  return {
    platformHost: () => platformHost,
    projectNamespacePrefix: () => projectNamespacePrefix,
    isKnown: () => isKnown,
    subscribe: (listener) => void listeners.push(listener),
  }
}

function createCompleteness(clock: Clock): Completeness {
  let asOfMs: number | null = null
  // Before the first proof, this is the time of the start.
  let provedMonotonicMs = clock.monotonicMs()
  return {
    proved: ({ wallMs, monotonicMs }) => {
      asOfMs = Math.max(wallMs, asOfMs ?? wallMs)
      provedMonotonicMs = Math.max(monotonicMs, provedMonotonicMs)
    },
    asOfMs: () => asOfMs,
    ageMs: () => clock.monotonicMs() - provedMonotonicMs,
  }
}

/** The store of ConfigMaps to compare with the API server. */
interface ComparedStore {
  readonly store: Store<FullObject<ConfigMap>>
  /** As in Completeness. */
  readonly proved: Completeness['proved']
  readonly relist: () => void
}

/**
 * Compares the ConfigMaps with the API server every five seconds, by names and versions: the list of revoked tokens is
 * as old as the last proof (contract 7.4), and bookmarks come only once a minute. A difference that two comparisons in
 * a row find is a change that the watch has missed.
 */
function proveComplete(
  { settings: { namespace }, clock, log, lifecycle }: GatewayProcess,
  deps: ClientDeps,
  { store, proved, relist }: ComparedStore,
): void {
  const compareWith = createListComparison()
  const compare = async (abort: AbortSignal): Promise<void> => {
    if (!store.synced) return
    const started = currentMoment(clock)
    const listed = await listMetadata(deps, CONFIG_MAPS, { namespace }, abort)
    const found = compareWith(store.values(), listed)
    if (found === 'complete') proved(started)
    if (found !== 'broken') return
    log.warn({ resource: CONFIG_MAPS.plural }, 'a watch has missed a change, listing again')
    relist()
  }
  startPoller({
    name: 'records',
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
