// The settings in force, as the watches of their objects deliver them.
import type { Config } from '../api/config.gen.ts'
import { IN_FORCE_CONFIG_MAP, JWKS_CONFIG_MAP, REVOKED_TOKENS_PREFIX } from '../api/names.ts'
import type { ConfigMap, KubeObject } from '../api/objects.ts'
import {
  type GatewaySwitches,
  type SettingsInForce,
  gatewaySwitchesInForce,
  settingsInForce,
} from '../domain/settings/in-force.ts'
import { type FullObject, type Store, fullObject } from '../kube/informer/store.ts'

/** The stores that hold the settings in force; their owner keeps them current by its own watches. */
export interface SettingsSources {
  readonly configs: Store<FullObject<Config>>
  /** Holds ConfigMap `platform-config-in-force`, and may hold others of the platform's namespace. */
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly configName: string
  /** The platform namespace. */
  readonly namespace: string
}

/**
 * Follows the settings in force (contract 6.5, 8.2): calls back with them, without their secrets, once both stores
 * are listed and whenever one of their objects changes. `listener` learns from the value whether they can be read.
 */
export function followSettings(
  { configs, configMaps, configName, namespace }: SettingsSources,
  listener: (observed: SettingsInForce) => void,
): void {
  const notify = (): void => {
    if (!configs.synced || !configMaps.synced) return
    const config = configs.get(configName)
    const record = configMaps.get(IN_FORCE_CONFIG_MAP, namespace)
    const status = config ? { uid: config.uid, status: config.object.status } : null
    listener(settingsInForce(status, record ? (record.object.data ?? {}) : null))
  }
  configs.subscribe(({ name }) => name === configName && notify())
  configMaps.subscribe(({ name }) => name === IN_FORCE_CONFIG_MAP && notify())
  for (const store of [configs, configMaps]) store.whenSynced(notify)
}

/**
 * The projection for a store of the ConfigMaps of the platform's namespace: ours whole, others without their data.
 * Ours are known by name and not by a label: removing a label would lift a revocation.
 */
export function platformConfigMap(object: KubeObject): FullObject<ConfigMap> {
  const { name } = object.metadata
  const isOurs =
    name === IN_FORCE_CONFIG_MAP ||
    name === JWKS_CONFIG_MAP ||
    name.startsWith(REVOKED_TOKENS_PREFIX)
  if (isOurs) return fullObject(object)
  const { apiVersion, kind, metadata } = object
  return fullObject({ apiVersion, kind, metadata })
}

/**
 * Follows the gateway's switches in force. Settings that can't be read change nothing: a fault opens no endpoint
 * (contract 6.5).
 *
 * @returns reads the current switches; null until the first settings in force have arrived
 */
export function followGatewaySwitches(sources: SettingsSources): () => GatewaySwitches | null {
  let current: GatewaySwitches | null = null
  followSettings(sources, (observed) => {
    current = gatewaySwitchesInForce(observed) ?? current
  })
  return () => current
}
