// Finalizers, by which an object that is deleted stays until our work for it is done (contract 5.1). An apply adds ours
// with the fields that it guards (adoptObject of kube/controller/object-writes.ts). A removal names the object by its uid and tests
// the place of the finalizer in the list: it never removes one of another owner, nor ours of another object of that name.
import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { isNotFound, testFailedAsConflict } from './api-error.ts'
import type { KubeClient, PatchOperation } from './client.ts'

/** A cached object with its finalizers. */
export interface Finalized {
  readonly name: string
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string
  readonly uid: string
  readonly finalizers: readonly string[]
}

/**
 * The operations of a JSON patch that remove a finalizer of this object. The `test` comes first: a finalizer may have
 * moved in the list, and a removal by index alone would remove another one.
 */
export function withoutFinalizer(
  { uid, finalizers }: Finalized,
  finalizer: string,
): readonly PatchOperation[] {
  const path = `/metadata/finalizers/${finalizers.indexOf(finalizer)}`
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path, value: finalizer },
    { op: 'remove', path },
  ]
}

/**
 * Removes a finalizer. @returns the object as stored; null = it is gone already
 *
 * @throws StatusError 409 when the cache is stale
 */
export async function removeFinalizer(
  client: KubeClient,
  resource: Resource,
  object: Finalized,
  finalizer: string,
): Promise<KubeObject | null> {
  try {
    return await client.patch(resource, object, withoutFinalizer(object, finalizer), 'finalizer')
  } catch (error) {
    if (isNotFound(error)) return null
    throw testFailedAsConflict(error)
  }
}
