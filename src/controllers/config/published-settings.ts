// Writes the objects by which other processes know the settings in force: a ConfigMap that records them (contract 6.5), and a
// Secret for each process that needs secret ones (contract 6.8).
import { apiVersionOf, CONFIG_MAPS, IN_FORCE_CONFIG_MAP, SECRETS } from '../../api/names.ts'
import { type ConfigMap, type Secret, secretData } from '../../api/objects.ts'
import type { ConfigMapData } from '../../domain/settings/effective-settings.ts'
import { isConflict } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { applyFields, type ObjectTarget } from '../../kube/controller/object-writes.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { WatchedSettingsSecret } from './settings-secrets.ts'

/** Why the record of the settings in force is written, for metrics. */
export const RECORD_WRITE_REASONS = ['record'] as const

/** Why Secrets with settings are written, for metrics. */
export const SECRET_SETTINGS_WRITE_REASONS = ['settings'] as const

/** Where the record is. */
interface SettingsRecordDeps {
  readonly client: KubeClient
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly namespace: string
}

/** Creates or changes the record. @throws StatusError 409 when it has changed, and for a write that is refused */
export const recordSettings = (
  data: ConfigMapData,
  { client, configMaps: store, namespace }: SettingsRecordDeps,
): Promise<void> =>
  writeData(
    { client, resource: CONFIG_MAPS, store },
    { name: IN_FORCE_CONFIG_MAP, namespace },
    { data, reason: RECORD_WRITE_REASONS[0] },
  )

/** Creates or changes the Secret. @throws StatusError 409 when it has changed, and for a write that is refused */
export const writeSecretSettings = (
  text: string,
  { name, namespace, store }: WatchedSettingsSecret,
  client: KubeClient,
): Promise<void> =>
  writeData(
    { client, resource: SECRETS, store },
    { name, namespace },
    {
      data: secretData({ config: text }),
      reason: SECRET_SETTINGS_WRITE_REASONS[0],
    },
  )

/** The objects of a kind that has data. */
interface DataTarget extends ObjectTarget {
  readonly store: ObjectTarget['store'] & {
    readonly get: (name: string, namespace: string) => FullObject<ConfigMap | Secret> | undefined
  }
}

async function writeData(
  target: DataTarget,
  metadata: { readonly name: string; readonly namespace: string },
  { data, reason }: { readonly data: ConfigMapData; readonly reason: string },
): Promise<void> {
  const { client, resource, store } = target
  const { name, namespace } = metadata
  const stored = store.get(name, namespace)
  if (stored) return applyFields(target, stored, { metadata: { namespace }, data }, { reason })
  const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, data }
  await ignoreConflict(client.create(resource, object, reason))
}

/** Ignores the conflict of a create: the object has a fixed name and exists already. @throws any other error */
export async function ignoreConflict(creation: Promise<unknown>): Promise<void> {
  try {
    await creation
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
