import { IN_FORCE_CONFIG_MAP, JWKS_CONFIG_MAP, REVOKED_TOKENS_PREFIX } from '../api/names.ts'
import type { ConfigMap, KubeObject } from '../api/objects.ts'
import { type Whole, whole } from '../kube/informer/store.ts'

/**
 * The projection of ConfigMaps of the platform's namespace: ours whole, others without their data.
 * Selected by name and not by a label: taking a label off would lift a revocation.
 */
export function ourConfigMap(object: KubeObject): Whole<ConfigMap> {
  const { name } = object.metadata
  const isOurs =
    name === IN_FORCE_CONFIG_MAP ||
    name === JWKS_CONFIG_MAP ||
    name.startsWith(REVOKED_TOKENS_PREFIX)
  if (isOurs) return whole(object)
  const { apiVersion, kind, metadata } = object
  return whole({ apiVersion, kind, metadata })
}
