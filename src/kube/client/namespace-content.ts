// The content of a namespace, of one kind or of all that the API server serves: metadata only, so that no Secret is read.
import type { Resource } from '../../api/names.ts'
import type { ObjectMeta } from '../../api/objects.ts'
import { StatusError } from './api-error.ts'
import { pathOf } from './client.ts'
import { type ClientDeps, send } from './request.ts'

/** The kinds of namespaced objects that an API server stores. */
interface NamespacedResources {
  /** The kinds without duplicates: each in one of its versions. */
  readonly resources: readonly Resource[]
  /** Group versions whose kinds it could not tell: their server is down. */
  readonly unknown: readonly string[]
}

/** Reads what is in a namespace. */
export interface NamespaceContent {
  readonly resources: () => Promise<NamespacedResources>
  /** The metadata of all objects of a kind; null = this process may not list them, or their server is down. */
  readonly list: (resource: Resource, namespace: string) => Promise<readonly ObjectMeta[] | null>
}

interface ApiGroups {
  readonly groups: readonly {
    readonly versions: readonly { readonly groupVersion: string }[]
  }[]
}

interface ApiResources {
  readonly resources: readonly {
    readonly name: string
    readonly kind: string
    readonly namespaced: boolean
    readonly verbs: readonly string[]
  }[]
}

interface MetadataPage {
  readonly metadata: { readonly continue?: string }
  /** null = none: that is how Go writes an empty list. */
  readonly items: readonly { readonly metadata: ObjectMeta }[] | null
}

const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const PAGE = 500

/** Reads namespaces of one API server. Its methods throw as `send` does where they say nothing else. */
export function createNamespaceContent(deps: ClientDeps): NamespaceContent {
  const get = async (path: string): Promise<unknown> => send(deps, { method: 'GET', path })
  return {
    resources: async () => {
      const { groups } = (await get('/apis')) as ApiGroups
      const named = groups.flatMap(({ versions }) => versions.map((one) => one.groupVersion))
      const found = new Map<string, Resource>()
      const unknown: string[] = []
      for (const groupVersion of ['v1', ...named]) {
        const served = await readable(() => get(pathOfVersion(groupVersion)))
        if (served === null) unknown.push(groupVersion)
        else
          for (const resource of storedResources(groupVersion, served as ApiResources)) {
            const id = `${resource.plural}.${resource.group}`
            if (!found.has(id)) found.set(id, resource)
          }
      }
      return { resources: [...found.values()], unknown }
    },
    list: (resource, namespace) => readable(() => listMetadata(deps, resource, { namespace })),
  }
}

/** Selects objects of one namespace. */
interface MetadataQuery {
  readonly namespace: string
  /** Absent = all. */
  readonly labelSelector?: string
}

/**
 * The metadata of all matching objects at one time, from etcd and not from a cache that may be behind.
 *
 * @throws StatusError for an error response, NoResponseError for none
 */
export async function listMetadata(
  deps: ClientDeps,
  resource: Resource,
  query: MetadataQuery,
  signal?: AbortSignal,
): Promise<readonly ObjectMeta[]> {
  const found: ObjectMeta[] = []
  for await (const page of metadataPages(deps, resource, { ...query, limit: PAGE }, signal))
    found.push(...page)
  return found
}

/**
 * The same in pages of `limit` objects, for a caller that keeps little of each or not all: others may have made many, and each
 * as large as an object can be.
 *
 * @throws as listMetadata does
 */
export async function* metadataPages(
  deps: ClientDeps,
  resource: Resource,
  query: MetadataQuery & { readonly limit: number },
  signal?: AbortSignal,
): AsyncGenerator<readonly ObjectMeta[]> {
  for (let next: string | undefined = ''; next !== undefined; ) {
    const page = await metadataPage(deps, resource, query, next, signal)
    yield (page.items === null ? [] : page.items).map(({ metadata }) => metadata)
    next = page.metadata.continue || undefined
  }
}

async function metadataPage(
  deps: ClientDeps,
  resource: Resource,
  { namespace, limit, ...selector }: MetadataQuery & { readonly limit: number },
  next: string,
  signal: AbortSignal | undefined,
): Promise<MetadataPage> {
  const from = next === '' ? {} : { continue: next }
  return (await send(deps, {
    method: 'GET',
    path: pathOf(resource, { namespace }),
    query: { limit: String(limit), ...selector, ...from },
    // Servers of aggregated APIs need not know the short form.
    accept: `${METADATA},application/json`,
    ...(signal ? { signal } : {}),
  })) as MetadataPage
}

const pathOfVersion = (groupVersion: string): string =>
  groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`

/** Subresources, and kinds that only answer a question, can't be listed. */
function storedResources(groupVersion: string, served: ApiResources): readonly Resource[] {
  const [version = '', group = ''] = groupVersion.split('/').toReversed()
  return served.resources
    .filter(
      ({ name, namespaced, verbs }) => namespaced && !name.includes('/') && verbs.includes('list'),
    )
    .map(({ name: plural, kind }) => ({ group, version, plural, kind }))
}

/** null for any answer that is an error: the content is unknown then. */
async function readable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof StatusError) return null
    throw error
  }
}
