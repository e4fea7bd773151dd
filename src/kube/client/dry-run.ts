// Writes that the API server judges and does not store: admission, quotas and validation answer as for the write itself.
import type { Resource } from '../../api/names.ts'
import { type AppliedObject, type NamedObject, pathOf } from './client.ts'
import { type ClientDeps, send } from './request.ts'

/** Tries a create. @throws as the create would */
export async function dryRunCreate(
  deps: ClientDeps,
  resource: Resource,
  object: NamedObject,
): Promise<void> {
  const { namespace } = object.metadata
  await send(deps, {
    method: 'POST',
    path: pathOf(resource, { namespace }),
    query: { dryRun: 'All' },
    body: object,
    contentType: 'application/json',
  })
}

/** Tries a server-side apply with force. @throws as the apply would */
export async function dryRunApply(
  deps: ClientDeps,
  resource: Resource,
  object: AppliedObject,
): Promise<void> {
  await send(deps, {
    method: 'PATCH',
    path: pathOf(resource, object.metadata),
    query: { fieldManager: deps.fieldManager, force: 'true', dryRun: 'All' },
    body: object,
    contentType: 'application/apply-patch+yaml',
  })
}
