// The state of the store for the operator (contract 36.1), in a ConfigMap.
import { CONFIG_MAPS, DELIVERY_FIELD_MANAGER, apiVersionOf } from '../../api/names.ts'
import { SECRET_STORE_STATUS_CONFIG_MAP } from '../../api/secret-store-names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import { type ReportedStoreStatus, storeStatusText } from '../../domain/store/store-status.ts'
import { type KubeClient, claim } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'

/** Why the ConfigMap is written, for metrics. */
export const STORE_REPORT_REASONS = ['create', 'status'] as const

/**
 * Writes the ConfigMap, if its text differs.
 *
 * @param status null = the store is switched off
 * @throws StatusError 409 when another has written it meanwhile
 */
export async function reportStatus(
  status: ReportedStoreStatus | null,
  { client, clientDeps }: { readonly client: KubeClient; readonly clientDeps: ClientDeps },
  namespace: string,
): Promise<void> {
  const ref = { namespace, name: SECRET_STORE_STATUS_CONFIG_MAP }
  const stored = await client.get<ConfigMap>(CONFIG_MAPS, ref)
  const object = {
    apiVersion: apiVersionOf(CONFIG_MAPS),
    kind: CONFIG_MAPS.kind,
    metadata: ref,
    data: { status: storeStatusText(status) },
  }
  if (stored === null) {
    if (status === null) return
    await claim(clientDeps, CONFIG_MAPS, object, {
      manager: DELIVERY_FIELD_MANAGER,
      reason: 'create',
    })
  } else if (stored.data?.['status'] !== object.data.status) {
    const { uid, resourceVersion } = stored.metadata
    const metadata = { ...ref, uid, resourceVersion }
    await client.apply(CONFIG_MAPS, { ...object, metadata }, 'status')
  }
}
