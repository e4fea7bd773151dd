import type { Resource } from '../api/group.ts'
import type { KubeObject } from '../api/meta.ts'
import { type NewObject, pathOf } from './client.ts'
import { type ClientDeps, send } from './transport.ts'

/** An object under a fixed name. */
export type NamedObject = NewObject & { readonly metadata: { readonly name: string } }

/**
 * Creates an object that several replicas want to create, so that one wins. It is a server-side apply
 * without force under a manager of this process's own: where another's object says otherwise the answer
 * is a 409, as it is for a create. Unlike a create, RBAC can limit it to the name, with the verbs `patch`
 * and `create`, so that who may claim one Secret may not add others.
 *
 * @param manager unlike that of every other replica
 * @throws KubeFailure, a conflict where somebody else's object is there
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
