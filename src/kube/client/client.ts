// The verbs of the API, on pooled connections. Every write has a condition and a reason (contract 8.6).
import type { Readable } from 'node:stream'
import type { Resource } from '../../api/names.ts'
import type { KubeObject, ObjectMeta } from '../../api/objects.ts'
import { isNotFound } from './api-error.ts'
import { type Call, type ClientDeps, openStream, send } from './request.ts'

/** Reference to an object; without a namespace the object is cluster-scoped. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string
}

/** An object to create: the API server sets the other fields. */
export interface NewObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Partial<ObjectMeta>
  readonly [field: string]: unknown
}

/**
 * An object for a server-side apply. With uid the apply can't create, with resourceVersion it can't overwrite
 * changes.
 */
export interface AppliedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Partial<ObjectMeta> & { readonly name: string; readonly uid: string }
  readonly [field: string]: unknown
}

/** The preconditions of a delete. */
interface Preconditions {
  /** Absent = the object of that name: only for a caller that may not read it, and whose names are random. */
  readonly uid?: string
  /** Absent = whatever has changed since. */
  readonly resourceVersion?: string
}

/** One operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  readonly op: 'test' | 'add' | 'remove' | 'replace'
  readonly path: string
  readonly value?: unknown
}

/** A page of a list. `next` is the continue token; absent = the last page. */
interface ListPage {
  readonly items: readonly KubeObject[]
  readonly resourceVersion: string
  readonly next?: string
}

/** Selects a part of a collection. */
export interface ListQuery {
  readonly namespace?: string
  readonly fieldSelector?: string
  readonly labelSelector?: string
}

/** A client of one API server. Methods throw StatusError for an error response, NoResponseError for none. */
export interface KubeClient {
  /** Gets an object; null = it does not exist. */
  get<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    signal?: AbortSignal,
  ): Promise<T | null>
  /** Lists a page of at most `limit` objects, which lack apiVersion and kind. `next` is the continue token. */
  list(
    resource: Resource,
    query: ListQuery,
    limit: number,
    next?: string,
    signal?: AbortSignal,
  ): Promise<ListPage>
  /** Opens a watch: a stream of bytes in lines of JSON. It ends or fails with the connection. */
  watch(
    resource: Resource,
    query: Readonly<Record<string, string>>,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<Readable>
  create<T extends KubeObject>(resource: Resource, object: NewObject, reason: string): Promise<T>
  /** A full update, conditional on the object's resourceVersion. */
  replace<T extends KubeObject>(resource: Resource, object: KubeObject, reason: string): Promise<T>
  /** Server-side apply with force, as the client's field manager. */
  apply<T extends KubeObject>(
    resource: Resource,
    object: AppliedObject,
    reason: string,
    subresource?: 'status',
  ): Promise<T>
  /** A JSON patch, whose first operation is a `test`. */
  patch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    operations: readonly PatchOperation[],
    reason: string,
    subresource?: 'status',
    signal?: AbortSignal,
  ): Promise<T>
  /** Deletes an object. Returns it while it waits for finalizers; null = it is gone. */
  delete(
    resource: Resource,
    ref: ObjectRef,
    preconditions: Preconditions,
    reason: string,
  ): Promise<KubeObject | null>
}

/** Creates a client on a connection. */
export const createClient = (deps: ClientDeps): KubeClient => ({
  ...readVerbs(deps),
  ...writeVerbs(deps),
  ...patchVerbs(deps),
})

function readVerbs(deps: ClientDeps): Pick<KubeClient, 'get' | 'list' | 'watch'> {
  return {
    get: async <T>(resource: Resource, ref: ObjectRef, signal?: AbortSignal) => {
      const path = pathOf(resource, ref)
      const call: Call = { method: 'GET', path, ...(signal && { signal }) }
      return await nullIfNotFound(send(deps, call) as Promise<T>)
    },
    list: async (resource, { namespace, ...selectors }, limit, next, signal) => {
      const query = {
        limit: String(limit),
        ...(next === undefined ? {} : { continue: next }),
        ...selectors,
      }
      const path = pathOf(resource, { namespace })
      const page = (await send(deps, {
        method: 'GET',
        path,
        query,
        ...(signal && { signal }),
      })) as {
        readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
        readonly items: readonly KubeObject[]
      }
      const { resourceVersion, continue: token } = page.metadata
      return { items: page.items, resourceVersion, ...(token ? { next: token } : {}) }
    },
    watch: (resource, query, namespace, signal) =>
      openStream(deps, { method: 'GET', path: pathOf(resource, { namespace }), query, signal }),
  }
}

function writeVerbs(deps: ClientDeps): Pick<KubeClient, 'create' | 'replace' | 'delete'> {
  const contentType = 'application/json'
  return {
    create: async <T>(resource: Resource, object: NewObject, reason: string) => {
      const path = pathOf(resource, { namespace: object.metadata.namespace })
      const call: Call = { method: 'POST', path, body: object, contentType }
      return (await write(deps, resource, reason, call)) as T
    },
    replace: async <T>(resource: Resource, object: KubeObject, reason: string) => {
      const path = pathOf(resource, object.metadata)
      const call: Call = { method: 'PUT', path, body: object, contentType }
      return (await write(deps, resource, reason, call)) as T
    },
    delete: async (resource, ref, preconditions, reason) => {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }
      const call: Call = { method: 'DELETE', path: pathOf(resource, ref), body, contentType }
      const answer = await nullIfNotFound(
        write(deps, resource, reason, call) as Promise<KubeObject>,
      )
      return answer?.kind === 'Status' ? null : answer
    },
  }
}

function patchVerbs(deps: ClientDeps): Pick<KubeClient, 'apply' | 'patch'> {
  return {
    apply: async <T>(
      resource: Resource,
      object: AppliedObject,
      reason: string,
      subresource?: 'status',
    ) => {
      const call: Call = {
        method: 'PATCH',
        path: pathOf(resource, object.metadata, subresource),
        query: { fieldManager: deps.fieldManager, force: 'true' },
        body: object,
        contentType: 'application/apply-patch+yaml',
      }
      return (await write(deps, resource, reason, call)) as T
    },
    patch: async <T>(
      resource: Resource,
      ref: ObjectRef,
      body: readonly PatchOperation[],
      reason: string,
      subresource?: 'status',
      signal?: AbortSignal,
    ) => {
      const call: Call = {
        method: 'PATCH',
        path: pathOf(resource, ref, subresource),
        body,
        contentType: 'application/json-patch+json',
        ...(signal && { signal }),
      }
      return (await write(deps, resource, reason, call)) as T
    },
  }
}

/** Sends a write, and counts it once it is answered. */
async function write(
  deps: ClientDeps,
  resource: Resource,
  reason: string,
  call: Call,
): Promise<unknown> {
  const answer = await send(deps, call)
  deps.observer.wrote(resource.kind, reason)
  return answer
}

async function nullIfNotFound<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

/**
 * The URL path of a collection (no name), an object or its subresource.
 *
 * @throws Error for an empty name or namespace: the path would name a whole collection
 */
export function pathOf(
  { group, version, plural }: Resource,
  {
    namespace,
    name,
  }: { readonly namespace?: string | undefined; readonly name?: string | undefined },
  subresource?: string,
): string {
  const root = group === '' ? ['api', version] : ['apis', group, version]
  const scope = namespace === undefined ? [] : ['namespaces', namespace]
  const segments = [...root, ...scope, plural, name, subresource].filter(
    (part) => part !== undefined,
  )
  if (segments.includes('')) throw new Error(`a name or namespace of ${plural} is empty`)
  return `/${segments.map(encodeURIComponent).join('/')}`
}

/**
 * The kinds that the API server serves in a version of a group, such as `apps` and `v1`; null = it serves no such
 * version.
 */
export async function readServedKinds(
  deps: ClientDeps,
  group: string,
  version: string,
): Promise<ReadonlySet<string> | null> {
  try {
    const path = `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`
    const { resources } = (await send(deps, { method: 'GET', path })) as {
      readonly resources: readonly { readonly kind: string }[]
    }
    return new Set(resources.map(({ kind }) => kind))
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

/** A new object with a fixed name. */
export type NamedObject = NewObject & { readonly metadata: { readonly name: string } }

/**
 * Creates an object that only one of several replicas must create, by a server-side apply without force. Like a
 * create it gets a 409 if another replica's object differs; unlike a create, RBAC can limit it to one name (verbs
 * `patch` and `create`).
 *
 * @param manager the field manager, unique to this replica
 * @throws StatusError, a conflict if a different object exists
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
