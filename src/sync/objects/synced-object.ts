import type { KubeObject } from '../../api/objects.ts'
import { nestedMap, nestedString } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { hasManager } from '../../domain/managed-fields.ts'
import type { CachedObject } from '../../kube/informer/store.ts'

/** An object of a synced kind as the syncer keeps it. */
export interface SyncedObject extends CachedObject {
  readonly namespace: string
  /** The whole object without managedFields, with apiVersion and kind. */
  readonly object: JsonMap
  /** Whether a user has set `spec.ipFamilies`; else the API server has filled it in, or it is not there. */
  readonly choosesIpFamilies: boolean
}

/**
 * The projection of a synced kind of the core group.
 *
 * @param kind items of a list lack it
 */
export const syncedObject =
  (kind: string) =>
  (object: KubeObject): SyncedObject => {
    const { managedFields, ...metadata } = object.metadata
    return {
      name: metadata.name,
      namespace: metadata.namespace ?? '',
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      object: {
        ...(object as unknown as JsonMap),
        apiVersion: 'v1',
        kind,
        metadata: metadata as unknown as JsonMap,
      },
      choosesIpFamilies: hasManager(managedFields ?? [], ['spec', 'ipFamilies']),
    }
  }

/** Whether the object is deleted, and finalizers keep it. */
export const isTerminating = ({ object }: SyncedObject): boolean =>
  nestedString(object, ['metadata', 'deletionTimestamp']) !== ''

/** Whether a Service selects Pods, so that a controller builds its Endpoints. */
export const hasSelector = ({ object }: SyncedObject): boolean =>
  Object.keys(nestedMap(object, ['spec', 'selector'])).length > 0
