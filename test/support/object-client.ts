// Creates, changes and awaits objects of one kind on a control plane.
import { expect } from 'vitest'
import { API_VERSION, type Resource } from '../../src/api/names.ts'
import type { Condition, KubeObject } from '../../src/api/objects.ts'
import { findCondition } from '../../src/domain/conditions.ts'
import { type NewObject, pathOf } from '../../src/kube/client/client.ts'
import type { TestControlPlane } from './control-plane.ts'
import { eventually } from './eventually.ts'
import type { RawOptions } from './raw-client.ts'

/** The fields that the kinds of this product share. */
export interface StoredObject extends KubeObject {
  readonly status: {
    readonly observedGeneration?: number
    readonly conditions?: readonly Condition[]
  }
}

/** An Event about an object. */
export interface StoredEvent {
  readonly type: string
  readonly reason: string
  readonly message: string
}

/** An object, or its name. */
export type Named = string | Pick<KubeObject, 'metadata'>

/** The propagation policy of a delete. */
export type Propagation = 'Background' | 'Foreground' | 'Orphan'

/** The objects of a kind. All but `read` throw when the API server refuses. */
export interface ObjectClient<Kept extends StoredObject> {
  create(object: NewObject): Promise<Kept>
  /** null when there is none. */
  read(object: Named): Promise<Kept | null>
  /** A merge patch, or a JSON patch where it is a list. */
  patch(object: Named, patch: object, subresource?: 'status'): Promise<Kept>
  /** Server-side apply with force by a field manager; absent, the object is created. */
  apply(object: Named, manager: string, parts: object, subresource?: 'status'): Promise<Kept>
  remove(object: Named, propagationPolicy?: Propagation): Promise<void>
  /** Waits until the condition holds for the object. */
  until(object: Named, what: string, isSo: (object: Kept) => boolean): Promise<Kept>
  /** Waits until Ready has this reason for the current generation. */
  shown(object: Named, reason: string): Promise<Kept>
  /** Waits until there is no such object. */
  gone(object: Named): Promise<void>
  /** The events about the object by now. */
  events(object: Pick<KubeObject, 'metadata'>): Promise<readonly StoredEvent[]>
}

/** The time limit of every wait, on a busy machine. */
const SOON = { withinMs: 20_000 }

/** The objects of one of our kinds; `inNamespace` is for a namespaced kind. */
export function objectClientOf<Kept extends StoredObject>(
  { raw }: Pick<TestControlPlane, 'raw'>,
  resource: Resource,
  inNamespace?: string,
): ObjectClient<Kept> {
  const place = inNamespace === undefined ? {} : { namespace: inNamespace }
  const pathTo = (object: Named, subresource?: 'status'): string =>
    pathOf(resource, { ...place, name: nameOf(object) }, subresource)
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
  const read = async (object: Named): Promise<Kept | null> => {
    const { code, body } = await raw<Kept>('GET', pathTo(object))
    if (code === 404) return null
    expect(code).toBe(200)
    return withStatus(body)
  }
  const until: ObjectClient<Kept>['until'] = (object, what, isSo) =>
    eventually(
      `${nameOf(object)} ${what}`,
      async () => {
        const now = await read(object)
        if (now && isSo(now)) return now
        throw new Error(JSON.stringify(now?.status.conditions ?? now?.metadata ?? now))
      },
      SOON,
    )
  return {
    create: async (object) => withStatus(await ask('POST', pathOf(resource, place), object)),
    read,
    patch: async (object, body, subresource) => {
      const contentType = `application/${Array.isArray(body) ? 'json' : 'merge'}-patch+json`
      return withStatus(await ask('PATCH', pathTo(object, subresource), body, { contentType }))
    },
    apply: async (
      object,
      manager,
      { metadata = {}, ...parts }: { metadata?: object },
      subresource,
    ) => {
      const envelope = { apiVersion: API_VERSION, kind: resource.kind }
      const body = { ...envelope, metadata: { ...metadata, name: nameOf(object) }, ...parts }
      const path = `${pathTo(object, subresource)}?fieldManager=${manager}&force=true`
      const contentType = 'application/apply-patch+yaml'
      return withStatus(await ask('PATCH', path, body, { contentType }))
    },
    remove: async (object, propagationPolicy = 'Background') =>
      void (await ask('DELETE', pathTo(object), { propagationPolicy })),
    until,
    shown: (object, reason) =>
      until(object, `is ${reason}`, ({ metadata, status }) => {
        const ready = findCondition(status.conditions ?? [], 'Ready')
        return ready?.reason === reason && status.observedGeneration === metadata.generation
      }),
    gone: async (object) => {
      const isGone = async () => (await read(object)) === null || undefined
      await eventually(`${nameOf(object)} is gone`, isGone, SOON)
    },
    events: async ({ metadata: { uid, namespace = 'default' } }) => {
      const selector = encodeURIComponent(`involvedObject.uid=${uid}`)
      const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=${selector}`
      return (await ask<{ readonly items: readonly StoredEvent[] }>('GET', path)).items
    },
  }
}

/** A condition of an object; fails where there is none. */
export function conditionIn({ status }: Pick<StoredObject, 'status'>, type: string): Condition {
  const found = findCondition(status.conditions ?? [], type)
  if (!found) throw new Error(`there is no condition ${type}`)
  return found
}

const nameOf = (object: Named): string =>
  typeof object === 'string' ? object : object.metadata.name

/** An object has no status before its first reconcile. */
const withStatus = <Kept extends StoredObject>(object: Kept): Kept => ({
  ...object,
  status: object.status ?? {},
})
