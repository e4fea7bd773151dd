import type { Resource } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import { type NewObject, pathOf } from './client.ts'
import { type ClientDeps, send } from './transport.ts'

/** An object under a fixed name. */
export type NamedObject = NewObject & { readonly metadata: { readonly name: string } }

/**
 * Creates an object that several replicas want to create; one wins. A server-side apply without force, by a
 * manager of this process: like a create, it gets a 409 where another replica's object differs. Unlike a
 * create, RBAC can limit it to one name (verbs `patch` and `create`).
 *
 * @param manager differs from that of every other replica
 * @throws KubeFailure, a conflict where another object exists
 */
export async function claim<T extends KubeObject>(
  deps: ClientDeps,
  resource: Resource,
  object: NamedObject,
  { manager, reason }: { readonly manager: string; readonly reason: string },
): Promise<T> {
  const claimed = await send(deps, {
    method: 'PATCH',
    path: pathOf(resource, object.metadata),
    query: { fieldManager: manager },
    body: object,
    contentType: 'application/apply-patch+yaml',
  })
  deps.observer.wrote(resource.kind, reason)
  return claimed as T
}
