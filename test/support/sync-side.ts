// Objects of one cluster of endpoint sync: creates, changes, reads and awaits them as an admin.
import { expect } from 'vitest'
import { ENDPOINTS, type Resource, SERVICES } from '../../src/api/names.ts'
import type { KubeObject } from '../../src/api/objects.ts'
import { type ObjectRef, pathOf } from '../../src/kube/client/client.ts'
import type { Propagation, StoredEvent } from './object-client.ts'
import { eventually } from './eventually.ts'
import type { Raw, RawOptions } from './raw-client.ts'

/** An object as the API server sends it. */
export interface SeenObject extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly namespace: string }
  readonly [field: string]: unknown
}

/** An object to create; `kind` and namespace come from the call. */
export interface Draft {
  readonly metadata?: object
  readonly [field: string]: unknown
}

/** A namespaced name. */
export type Ref = Required<ObjectRef>

/** The objects of one cluster. All but `read` throw when the API server refuses. */
export interface Side {
  create(resource: Resource, ref: Ref, draft?: Draft): Promise<SeenObject>
  /** null when there is none. */
  read(resource: Resource, ref: Ref): Promise<SeenObject | null>
  /** @throws Error when there is none */
  get(resource: Resource, ref: Ref): Promise<SeenObject>
  /** A merge patch, or a JSON patch where it is a list. */
  patch(resource: Resource, ref: Ref, patch: object, subresource?: 'status'): Promise<SeenObject>
  remove(resource: Resource, ref: Ref, propagationPolicy?: Propagation): Promise<void>
  /** Waits until the object matches, as `toMatchObject` does. */
  shows(resource: Resource, ref: Ref, match: object): Promise<SeenObject>
  /** Waits until there is an object for which the condition holds. */
  until(
    resource: Resource,
    ref: Ref,
    what: string,
    isSo: (object: SeenObject) => boolean,
  ): Promise<SeenObject>
  /** Waits until there is no such object. */
  gone(resource: Resource, ref: Ref): Promise<void>
  /** The Events about the object by now. */
  events(object: Pick<SeenObject, 'metadata'>): Promise<readonly StoredEvent[]>
  /** Waits for an Event with this reason about the object. */
  event(object: Pick<SeenObject, 'metadata'>, reason: string): Promise<StoredEvent>
}

/** The time limit of every wait, on a busy machine. */
export const SOON = { withinMs: 20_000 }

/** The objects of a cluster. */
export function sideOf(raw: Raw): Side {
  const ask = async <T>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    options?: RawOptions,
  ): Promise<T> => {
    const answer = await raw<T>(method, path, body, options)
    if (answer.code < 300) return answer.body
    throw new Error(`${method} ${path}: ${answer.code} ${JSON.stringify(answer.body)}`)
  }
  const read: Side['read'] = async (resource, ref) => {
    const { code, body } = await raw<SeenObject>('GET', pathOf(resource, ref))
    if (code === 404) return null
    expect(code).toBe(200)
    return withoutManagers(body)
  }
  const until: Side['until'] = (resource, ref, what, isSo) =>
    eventually(
      `${resource.kind} ${ref.name} ${what}`,
      async () => {
        const now = await read(resource, ref)
        if (now && isSo(now)) return now
        throw new Error(JSON.stringify(now))
      },
      SOON,
    )
  const events: Side['events'] = async ({ metadata: { uid, namespace } }) => {
    const selector = encodeURIComponent(`involvedObject.uid=${uid}`)
    const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=${selector}`
    return (await ask<{ readonly items: readonly StoredEvent[] }>('GET', path)).items
  }
  return {
    create: async (resource, { name, namespace }, { metadata = {}, ...draft } = {}) =>
      withoutManagers(
        await ask('POST', pathOf(resource, { namespace }), {
          ...draft,
          metadata: { ...metadata, name },
        }),
      ),
    read,
    get: async (resource, ref) => withoutManagers(await ask('GET', pathOf(resource, ref))),
    patch: async (resource, ref, body, subresource) => {
      const contentType = `application/${Array.isArray(body) ? 'json' : 'merge'}-patch+json`
      const path = pathOf(resource, ref, subresource)
      return withoutManagers(await ask('PATCH', path, body, { contentType }))
    },
    remove: async (resource, ref, propagationPolicy = 'Background') =>
      void (await ask('DELETE', pathOf(resource, ref), { propagationPolicy })),
    shows: (resource, ref, match) =>
      eventually(
        `${resource.kind} ${ref.name} is as it is to be`,
        async () => {
          const seen = await read(resource, ref)
          // null would match an empty object.
          if (seen === null) throw new Error('there is none')
          expect(seen).toMatchObject(match)
          return seen
        },
        SOON,
      ),
    until,
    gone: async (resource, ref) => {
      const isGone = async () => (await read(resource, ref)) === null || undefined
      await eventually(`${resource.kind} ${ref.name} is gone`, isGone, SOON)
    },
    events,
    event: (object, reason) =>
      eventually(
        `${object.metadata.name} has an Event ${reason}`,
        async () => {
          const found = await events(object)
          const wanted = found.find((one) => one.reason === reason)
          if (wanted === undefined) throw new Error(JSON.stringify(found))
          return wanted
        },
        SOON,
      ),
  }
}

/** managedFields have the times of writes in them, and nothing that a user wrote. */
function withoutManagers(object: SeenObject): SeenObject {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** A Service without selector, so that its Endpoints are a user's own. */
export const SELECTORLESS: Draft = { spec: { ports: [{ name: 'sql', port: 5432 }] } }

/** Endpoints with one address. */
export const endpointsAt = (ip: string): Draft => ({
  subsets: [{ addresses: [{ ip }], ports: [{ name: 'sql', port: 5432 }] }],
})

/** Creates a Service without selector, and its Endpoints with one address, in this order. */
export async function createPair(side: Side, ref: Ref, ip: string): Promise<SeenObject> {
  await side.create(SERVICES, ref, SELECTORLESS)
  return side.create(ENDPOINTS, ref, endpointsAt(ip))
}
