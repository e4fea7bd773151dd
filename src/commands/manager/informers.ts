import type { Config } from '../../api/config.gen.ts'
import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import {
  ACCESS_KEYS,
  CONFIGS,
  CONFIG_MAPS,
  type Resource,
  SECRETS,
  SIGNING_KEY_TYPE,
  TOKENS,
} from '../../api/names.ts'
import type { ConfigMap, KubeObject, Secret } from '../../api/objects.ts'
import { secretDigest } from '../../authn/credential-index.ts'
import { TOKEN_INDEXERS } from '../../controllers/indexes/tokens.ts'
import { KEY_INDEXERS, KEY_ORDERS } from '../../controllers/indexes/access-keys.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  accessKeyOf,
} from '../../domain/accesskey/access-key.ts'
import { type TokenObject, tokenOf } from '../../domain/token/token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type InformerFactory, createInformerFactory } from '../../kube/informer/informers.ts'
import { type FullObject, Store, fullObject } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import { type FollowedCaps, followCaps } from '../../settings/caps.ts'
import { platformConfigMap } from '../../settings/follow.ts'
import { type FollowedIssuer, followIssuer } from '../../settings/issuer.ts'
import type { ClientMetrics } from '../shared/client-metrics.ts'
import type { ManagerSettings } from './flags.ts'

/** The objects of the cluster that the manager watches. */
export interface Stores {
  readonly keys: Store<AccessKey>
  readonly tokens: Store<TokenObject>
  readonly configs: Store<FullObject<Config>>
  /** The Secret with settings, which has the name of the Config, if it exists. */
  readonly secrets: Store<FullObject<Secret>>
  /** The Secrets with signing keys. */
  readonly signingSecrets: Store<FullObject<Secret>>
  /** All ConfigMaps of the platform's namespace, without the data of ConfigMaps that are not the platform's. */
  readonly configMaps: Store<FullObject<ConfigMap>>
}

/** The resources that the manager watches. */
export const WATCHED: readonly Resource[] = [ACCESS_KEYS, TOKENS, CONFIGS, SECRETS, CONFIG_MAPS]

/** Creates empty stores, with the indexes that the controllers use. */
export function createStores(): Stores {
  const keyOf = (object: KubeObject): AccessKey =>
    accessKeyOf(object as OwnedAccessKeyObject, secretDigest)
  return {
    keys: new Store(keyOf, KEY_INDEXERS, KEY_ORDERS),
    tokens: new Store(
      (object: KubeObject) => tokenOf(object as DirectClusterEndpointToken),
      TOKEN_INDEXERS,
    ),
    configs: new Store(fullObject<Config>),
    secrets: new Store(fullObject<Secret>),
    signingSecrets: new Store(fullObject<Secret>),
    configMaps: new Store(platformConfigMap),
  }
}

/** What startManagerInformers needs of a process. */
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
  startInformer(ACCESS_KEYS, stores.keys, {})
  startInformer(CONFIGS, stores.configs, {})
  startInformer(TOKENS, stores.tokens, {})
  startInformer(SECRETS, stores.secrets, {
    namespace,
    fieldSelector: `metadata.name=${configName}`,
  })
  const signingKeys = `type=${SIGNING_KEY_TYPE}`
  startInformer(SECRETS, stores.signingSecrets, { namespace, fieldSelector: signingKeys })
  startInformer(CONFIG_MAPS, stores.configMaps, { namespace })
  return {
    caps: followCaps({ configs, configMaps, configName, namespace, log }),
    issuer: followIssuer({ configs, configMaps, flag, configName, namespace, log }),
    unserved,
    stuck,
  }
}
