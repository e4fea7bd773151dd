// The writes that reconcilers share. Each is conditional on the object as the store has it, and its answer goes into the
// store at once, so that the next reconcile sees it before the watch event comes.
import { type Resource, apiVersionOf } from '../../api/names.ts'
import type { KubeObject, ObjectMeta } from '../../api/objects.ts'
import type { AppliedObject, KubeClient } from '../client/client.ts'
import { type Finalized, removeFinalizer } from '../client/finalizer.ts'
import type { ObjectEvent } from '../event-recorder.ts'

/** The objects of a kind: where they are written, and the store that has them. */
export interface ObjectTarget {
  readonly client: KubeClient
  readonly resource: Resource
  readonly store: { readonly observe: (object: KubeObject) => void }
}

/** An object as the store has it. */
interface StoredObject {
  readonly name: string
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
}

/** What an apply sets besides the identity of the object. */
interface AppliedFields {
  readonly metadata?: Partial<ObjectMeta>
  readonly [field: string]: unknown
}

/** Applies fields of the object. @throws StatusError 409 when the object has changed */
export async function applyFields(
  { client, resource, store }: ObjectTarget,
  { name, namespace, uid, resourceVersion }: StoredObject,
  { metadata, ...fields }: AppliedFields,
  write: { readonly reason: string; readonly subresource?: 'status' },
): Promise<void> {
  const object: AppliedObject = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name, ...placeOf(namespace), uid, resourceVersion, ...metadata },
    ...fields,
  }
  store.observe(await client.apply(resource, object, write.reason, write.subresource))
}

/** Applies the status of the object. @throws StatusError 409 when the object has changed */
export const applyStatus = (
  target: ObjectTarget,
  object: StoredObject,
  status: object,
): Promise<void> =>
  applyFields(target, object, { status }, { reason: 'status', subresource: 'status' })

/**
 * Adds our finalizer together with the fields that it guards, so that no object has one without the other.
 *
 * @throws StatusError 409 when the object has changed
 */
export const adoptObject = (
  target: ObjectTarget,
  object: StoredObject,
  finalizer: string,
  { metadata, ...fields }: AppliedFields,
): Promise<void> =>
  applyFields(
    target,
    object,
    { ...fields, metadata: { ...metadata, finalizers: [finalizer] } },
    { reason: 'adopt' },
  )

/**
 * Deletes the object. The resourceVersion protects one that was used a moment ago (contract 5.3).
 *
 * @param reason why, for metrics
 * @returns whether it waits for finalizers now; false = it is gone
 * @throws StatusError 409 when the object has changed
 */
export async function deleteObject(
  { client, resource, store }: ObjectTarget,
  object: StoredObject,
  reason: string,
): Promise<boolean> {
  const { name, namespace, uid, resourceVersion } = object
  const ref = { name, ...placeOf(namespace) }
  const terminating = await client.delete(resource, ref, { uid, resourceVersion }, reason)
  if (terminating) store.observe(terminating)
  return terminating !== null
}

/**
 * Removes our finalizer, so that the object goes.
 *
 * @returns whether it was there; false = it is gone already
 * @throws StatusError 409 when the store is stale
 */
export async function releaseObject(
  { client, resource, store }: ObjectTarget,
  object: Finalized,
  finalizer: string,
): Promise<boolean> {
  const released = await removeFinalizer(client, resource, object, finalizer)
  if (released) store.observe(released)
  return released !== null
}

/** An object of the resource as the subject of an Event. */
export const regardingOf = (
  resource: Resource,
  { name, namespace, uid }: Pick<StoredObject, 'name' | 'namespace' | 'uid'>,
): ObjectEvent['regarding'] => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  name,
  ...placeOf(namespace),
  uid,
})

const placeOf = (namespace: string | undefined): Pick<StoredObject, 'namespace'> =>
  namespace === undefined ? {} : { namespace }
