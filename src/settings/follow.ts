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

/** Where the settings in force are read from. */
export interface SettingsSources {
  readonly configs: Store<FullObject<Config>>
  /** Holds ConfigMap `platform-config-in-force`, and may hold others of the platform's namespace. */
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly configName: string
  /** The platform namespace. */
  readonly namespace: string
}

/**
 * Calls back with the settings in force, secrets hidden, once both stores are listed and whenever the
 * objects that hold them change (contract 6.5, 8.2).
 */
export function followSettings(
  { configs, configMaps, configName, namespace }: SettingsSources,
  listener: (observed: SettingsInForce) => void,
): void {
  const read = (): void => {
    if (!configs.synced || !configMaps.synced) return
    const config = configs.get(configName)
    const record = configMaps.get(IN_FORCE_CONFIG_MAP, namespace)
    const status = config ? { uid: config.uid, status: config.object.status } : null
    listener(settingsInForce(status, record ? (record.object.data ?? {}) : null))
  }
  configs.subscribe(({ name }) => name === configName && read())
  configMaps.subscribe(({ name }) => name === IN_FORCE_CONFIG_MAP && read())
  for (const store of [configs, configMaps]) store.whenSynced(read)
}

/**
 * The projection of ConfigMaps of the platform's namespace: ours whole, others without their data.
 * Selected by name and not by a label: taking a label off would lift a revocation.
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
 * Follows the switches in force. Settings that can't be read change nothing: a fault opens no endpoint
 * (contract 6.5).
 *
 * @returns the present switches; null until settings in force have been seen
 */
export function followGatewaySwitches(sources: SettingsSources): () => GatewaySwitches | null {
  let current: GatewaySwitches | null = null
  followSettings(sources, (observed) => {
    current = gatewaySwitchesInForce(observed) ?? current
  })
  return () => current
}
