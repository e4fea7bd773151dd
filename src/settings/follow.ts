// The settings in force, as the watches of their objects deliver them.
import type { Config } from '../api/config.gen.ts'
import {
  CONFIGS,
  CONFIG_MAPS,
  IN_FORCE_CONFIG_MAP,
  JWKS_CONFIG_MAP,
  REVOKED_TOKENS_PREFIX,
  type Resource,
} from '../api/names.ts'
import type { ConfigMap, KubeObject } from '../api/objects.ts'
import {
  type GatewaySwitches,
  type SettingsInForce,
  gatewaySwitchesInForce,
  settingsInForce,
} from '../domain/settings/in-force.ts'
import type { KubeClient, ObjectRef } from '../kube/client/client.ts'
import { type FullObject, type Store, fullObject, objectKey } from '../kube/informer/store.ts'

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

/** Dependencies of a refresh. */
interface RefreshSettingsOptions extends SettingsSources {
  readonly client: KubeClient
  /** Called when the API server has an earlier state than a watch delivered, as after a restore: both watches must list again. */
  readonly relist: () => void
}

/**
 * Reads the settings in force into their stores, in addition to the watches: a watch that has fallen silent
 * delivers no change (contract 10.4).
 *
 * @throws Error when an object can't be read, or when the API server has an earlier state than the watch delivered
 */
export async function refreshSettings(
  { configs, configMaps, configName, client, namespace, relist }: RefreshSettingsOptions,
  signal: AbortSignal,
): Promise<void> {
  const read = { signal, client }
  const config = { resource: CONFIGS, ref: { name: configName } }
  const record = { resource: CONFIG_MAPS, ref: { name: IN_FORCE_CONFIG_MAP, namespace } }
  const areCurrent = await Promise.all([
    readInto(configs, { ...read, ...config }),
    readInto(configMaps, { ...read, ...record }),
  ])
  if (areCurrent.every(Boolean)) return
  relist()
  throw new Error('the settings were restored to an earlier state, waiting for their watches')
}

interface Read {
  readonly client: KubeClient
  readonly resource: Resource
  readonly ref: ObjectRef
  readonly signal: AbortSignal
}

/** @returns whether the store now holds what was read, or something newer */
async function readInto<T extends KubeObject>(
  store: Store<FullObject<T>>,
  { client, resource, ref, signal }: Read,
): Promise<boolean> {
  const before = store.getByKey(objectKey(ref))
  const object = await client.get(resource, ref, signal)
  // What the watch delivered meanwhile is newer than the response; else the next read puts it right.
  if (store.getByKey(objectKey(ref)) !== before) return true
  if (object) store.put(object)
  else if (before) store.remove(before.object)
  return store.getByKey(objectKey(ref))?.resourceVersion === object?.metadata.resourceVersion
}
