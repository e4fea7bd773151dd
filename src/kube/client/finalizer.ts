import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { StatusError, isNotFound, isTestFailed } from './api-error.ts'
import type { KubeClient, PatchOperation } from './client.ts'

/** An object with its finalizers, as cached. */
interface Finalized {
  readonly name: string
  readonly uid: string
  readonly finalizers: readonly string[]
}

/**
 * The operations that remove one finalizer of exactly this object. They test first: another finalizer may
 * have moved ours, and a removal by index alone would remove that one.
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
 * Removes our finalizer. null when the object is gone already.
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
    if (!isTestFailed(error)) throw error
    const { message, retryAfterMs, causes } = error
    throw new StatusError({ code: 409, reason: 'Conflict', message, retryAfterMs, causes })
  }
}
