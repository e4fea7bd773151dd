// Writes the ConfigMap that records the settings in force (contract 6.5).
import { CONFIG_MAPS, IN_FORCE_CONFIG_MAP } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import type { ConfigMapData } from '../../domain/settings/effective-settings.ts'
import { isConflict } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { applyFields } from '../../kube/controller/object-writes.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'

/** Why the record of the settings in force is written, for metrics. */
export const RECORD_WRITE_REASONS = ['record'] as const

/** Dependencies of recordSettings. */
interface SettingsRecordDeps {
  readonly client: KubeClient
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly namespace: string
}

/** Creates or changes the record. @throws StatusError 409 when it has changed, and for a write that is refused */
export async function recordSettings(
  data: ConfigMapData,
  { client, configMaps, namespace }: SettingsRecordDeps,
): Promise<void> {
  const [reason] = RECORD_WRITE_REASONS
  const stored = configMaps.get(IN_FORCE_CONFIG_MAP, namespace)
  if (stored) {
    const target = { client, resource: CONFIG_MAPS, store: configMaps }
    return applyFields(target, stored, { metadata: { namespace }, data }, { reason })
  }
  const metadata = { name: IN_FORCE_CONFIG_MAP, namespace }
  const object = { apiVersion: 'v1', kind: CONFIG_MAPS.kind, metadata, data }
  await ignoreConflict(client.create(CONFIG_MAPS, object, reason))
}

/** Ignores the conflict of a create: the object has a fixed name and exists already. @throws any other error */
export async function ignoreConflict(creation: Promise<unknown>): Promise<void> {
  try {
    await creation
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
