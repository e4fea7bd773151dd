// Lists objects by their metadata alone: the API server leaves the rest out of its answer.
import type { Resource } from '../../api/names.ts'
import type { ObjectMeta } from '../../api/objects.ts'
import { pathOf } from './client.ts'
import { type ClientDeps, send } from './request.ts'

/** Which object, in which version. */
export type ObjectVersion = Readonly<Pick<ObjectMeta, 'name' | 'uid' | 'resourceVersion'>>

/** Selects objects of one namespace. */
interface VersionsQuery {
  readonly namespace: string
  readonly labelSelector: string
}

interface VersionsPage {
  readonly metadata: { readonly continue?: string }
  /** The API server answers null for none, unlike in a list of whole objects. */
  readonly items: readonly { readonly metadata: ObjectMeta }[] | null
}

const ACCEPT = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
const PAGE_SIZE = '500'

/**
 * The versions of all matching objects at one time, from etcd and not from a cache that may be behind.
 *
 * @throws StatusError for an error response, NoResponseError for none
 */
export async function listVersions(
  deps: ClientDeps,
  resource: Resource,
  { namespace, labelSelector }: VersionsQuery,
  signal: AbortSignal,
): Promise<readonly ObjectVersion[]> {
  const path = pathOf(resource, { namespace })
  const all: ObjectVersion[] = []
  let next: string | undefined
  do {
    const query = { labelSelector, limit: PAGE_SIZE, ...(next ? { continue: next } : {}) }
    const page = (await send(deps, {
      method: 'GET',
      path,
      query,
      accept: ACCEPT,
      signal,
    })) as VersionsPage
    for (const { metadata } of page.items ?? []) {
      const { name, uid, resourceVersion } = metadata
      all.push({ name, uid, resourceVersion })
    }
    next = page.metadata.continue
  } while (next)
  return all
}
