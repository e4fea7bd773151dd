// Follows the settings in force by the watches of their objects.
import type { Config } from '../api/config.gen.ts'
import {
  CONFIG_MAPS,
  CONFIGS,
  IN_FORCE_CONFIG_MAP,
  JWKS_CONFIG_MAP,
  REVOKED_TOKENS_PREFIX,
  type Resource,
} from '../api/names.ts'
import { SECRET_STORE_STATUS_CONFIG_MAP } from '../api/secret-store-names.ts'
import type { ConfigMap, KubeObject } from '../api/objects.ts'
import { type SettingsInForce, settingsInForce } from '../domain/settings/effective-settings.ts'
import type { KubeClient, ObjectRef } from '../kube/client/client.ts'
import { type FullObject, fullObject, objectKey, type Store } from '../kube/informer/store.ts'

/** The stores with the settings in force, and the names of the objects. The caller fills the stores by watches. */
export interface SettingsSources {
  readonly configs: Store<FullObject<Config>>
  /** Has ConfigMap `platform-config-in-force`, and may have others of the platform's namespace. */
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly configName: string
  /** The platform namespace. */
  readonly namespace: string
}

/**
 * Follows the settings in force (contract 6.5, 8.2): calls `listener` with them, without their secrets, once both
 * stores are synced and whenever one of their objects changes. The value says if the settings are unknown.
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
 * The projection for a store of the ConfigMaps in the platform namespace: ours are stored whole, others without their
 * data. Ours are recognized by name and not by a label, because removing a label would lift a revocation.
 */
export function platformConfigMap(object: KubeObject): FullObject<ConfigMap> {
  const { name } = object.metadata
  const isOurs =
    name === IN_FORCE_CONFIG_MAP ||
    name === JWKS_CONFIG_MAP ||
    name === SECRET_STORE_STATUS_CONFIG_MAP ||
    name.startsWith(REVOKED_TOKENS_PREFIX)
  if (isOurs) return fullObject(object)
  const { apiVersion, kind, metadata } = object
  return fullObject({ apiVersion, kind, metadata })
}

/**
 * Follows a part of the settings in force. While settings can't be read, the earlier value stays, so that no fault opens
 * an endpoint (contract 6.5).
 *
 * @param select the part; null = the settings can't be read
 * @returns a function that reads the value; null before the first settings in force arrive
 */
export function followSetting<Setting>(
  sources: SettingsSources,
  select: (observed: SettingsInForce) => Setting | null,
): () => Setting | null {
  let current: Setting | null = null
  followSettings(sources, (observed) => {
    current = select(observed) ?? current
  })
  return () => current
}

/** Options of refreshSettings. */
interface RefreshSettingsOptions {
  readonly sources: SettingsSources
  readonly client: KubeClient
  /** Called when the API server has an older state than a watch delivered, as after a restore: both must list again. */
  readonly relist: () => void
}

/**
 * Reads the settings in force into their stores, in addition to the watches, because a broken watch delivers no change
 * (contract 10.4).
 *
 * @throws Error when an object can't be read, or when the API server has an older state than a watch delivered
 */
export async function refreshSettings(
  { sources, client, relist }: RefreshSettingsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { configs, configMaps, configName, namespace } = sources
  const record = { name: IN_FORCE_CONFIG_MAP, namespace }
  const areCurrent = await Promise.all([
    readInto(configs, { client, signal, resource: CONFIGS, ref: { name: configName } }),
    readInto(configMaps, { client, signal, resource: CONFIG_MAPS, ref: record }),
  ])
  if (areCurrent.every(Boolean)) return
  relist()
  throw new Error('the settings were restored to an earlier state, waiting for their watches')
}

interface ReadOptions {
  readonly client: KubeClient
  readonly resource: Resource
  readonly ref: ObjectRef
  readonly signal: AbortSignal
}

/** Reads an object into its store. @returns false when the store already has a newer state than the API server */
async function readInto<T extends KubeObject>(
  store: Store<FullObject<T>>,
  { client, resource, ref, signal }: ReadOptions,
): Promise<boolean> {
  const before = store.getByKey(objectKey(ref))
  const object = await client.get(resource, ref, signal)
  // A watch event during the read is newer than the response; if not, the next read corrects the store.
  if (store.getByKey(objectKey(ref)) !== before) return true
  if (object) store.put(object)
  else if (before) store.remove(before.object)
  return store.getByKey(objectKey(ref))?.resourceVersion === object?.metadata.resourceVersion
}
