// What the delivery process watches (contract 28.3): claims, their keys and tokens, and the settings in force, with those of the secret
// store.
import type { Config } from '../../api/config.gen.ts'
import {
  ACCESS_KEY_CLAIMS,
  ACCESS_KEYS,
  CLAIM_LABEL,
  CONFIG_MAPS,
  CONFIGS,
  GATEWAY_CA_CONFIG_MAP,
  IN_FORCE_CONFIG_MAP,
  SECRETS,
  TOKENS,
} from '../../api/names.ts'
import { DELIVERY_SETTINGS_SECRET } from '../../api/secret-store-names.ts'
import type { ConfigMap, Secret } from '../../api/objects.ts'
import type { ClaimStores } from '../../delivery/claims/deps.ts'
import { createClaimStores } from '../../delivery/claims/stores.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { oneObject } from '../../kube/controller/definition.ts'
import { type InformerFactory, createInformerFactory } from '../../kube/informer/informers.ts'
import { type FullObject, Store, fullObject } from '../../kube/informer/store.ts'
import type { DeliveryProcess } from './metrics.ts'

/** The stores of the process. */
export interface DeliveryStores extends ClaimStores {
  readonly configs: Store<FullObject<Config>>
  /** The settings in force. */
  readonly configMaps: Store<FullObject<ConfigMap>>
  /** The authority of the gateway's certificate. */
  readonly authorities: Store<FullObject<ConfigMap>>
  /** The settings of the secret store. */
  readonly secrets: Store<FullObject<Secret>>
}

/** Empty stores. */
export const createStores = (): DeliveryStores => ({
  ...createClaimStores(),
  configs: new Store((object) => fullObject<Config>(object)),
  configMaps: new Store((object) => fullObject<ConfigMap>(object)),
  authorities: new Store((object) => fullObject<ConfigMap>(object)),
  secrets: new Store((object) => fullObject<Secret>(object)),
})

/** Starts the informers that fill the stores; they end when the process stops. */
export function startInformers(
  { settings, clock, log, lifecycle, metrics }: DeliveryProcess,
  client: KubeClient,
  stores: DeliveryStores,
): Pick<InformerFactory, 'unserved' | 'stuck'> {
  const { startInformer, unserved, stuck } = createInformerFactory({
    client,
    clock,
    log,
    restarted: metrics.watchRestarted,
    signal: lifecycle.stopping,
  })
  const { namespace, configName } = settings
  const madeForClaims = { labelSelector: CLAIM_LABEL }
  startInformer(ACCESS_KEY_CLAIMS, stores.claims, {})
  startInformer(ACCESS_KEYS, stores.keys, madeForClaims)
  startInformer(TOKENS, stores.tokens, madeForClaims)
  startInformer(CONFIGS, stores.configs, { fieldSelector: `metadata.name=${configName}` })
  startInformer(CONFIG_MAPS, stores.configMaps, oneObject(namespace, IN_FORCE_CONFIG_MAP))
  startInformer(CONFIG_MAPS, stores.authorities, oneObject(namespace, GATEWAY_CA_CONFIG_MAP))
  startInformer(SECRETS, stores.secrets, oneObject(namespace, DELIVERY_SETTINGS_SECRET))
  return { unserved, stuck }
}
