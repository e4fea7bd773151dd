// The state of the store for the operator (contract 36.1), in a ConfigMap.
import { CONFIG_MAPS, SECRET_STORE_STATUS_CONFIG_MAP, apiVersionOf } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import { type StoreStatus, storeStatusText } from '../../domain/store/store-status.ts'
import type { KubeClient } from '../../kube/client/client.ts'

/** Why the ConfigMap is written, for metrics. */
export const STORE_REPORT_REASONS = ['create', 'status'] as const

/**
 * Writes the ConfigMap, if its text differs.
 *
 * @param status null = the store is switched off
 * @throws StatusError 409 when another has written it meanwhile
 */
export async function reportStatus(
  status: StoreStatus | null,
  client: KubeClient,
  namespace: string,
): Promise<void> {
  const ref = { namespace, name: SECRET_STORE_STATUS_CONFIG_MAP }
  const data = { status: storeStatusText(status) }
  const stored = await client.get<ConfigMap>(CONFIG_MAPS, ref)
  if (stored === null) {
    if (status === null) return
    const object = {
      apiVersion: apiVersionOf(CONFIG_MAPS),
      kind: CONFIG_MAPS.kind,
      metadata: ref,
      data,
    }
    await client.create(CONFIG_MAPS, object, 'create')
  } else if (stored.data?.['status'] !== data.status) {
    await client.replace(CONFIG_MAPS, { ...stored, data } as ConfigMap, 'status')
  }
}
