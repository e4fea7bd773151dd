import { CONFIGS, CONFIG_MAPS, IN_FORCE_CONFIG_MAP, type Resource } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import type { KubeClient, ObjectRef } from '../kube/client/client.ts'
import { type Store, type FullObject, objectKey } from '../kube/informer/store.ts'
import type { SettingsSources } from './follow.ts'

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
