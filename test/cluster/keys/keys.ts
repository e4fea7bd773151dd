// Access keys on a control plane, as a test makes, uses and watches them.
import { expect } from 'vitest'
import {
  ACCESS_KEYS,
  CREATED_ANNOTATION,
  FIELD_MANAGER,
  REVOKE_FINALIZER,
} from '../../../src/api/group.ts'
import type { Condition, KubeObject, ObjectMeta } from '../../../src/api/meta.ts'
import type {
  OwnedAccessKeySpec,
  OwnedAccessKeyStatus,
} from '../../../src/api/ownedaccesskey.gen.ts'
import { conditionOf } from '../../../src/domain/conditions.ts'
import { timestamp } from '../../../src/domain/time.ts'
import { pathOf } from '../../../src/kube/client.ts'
import type { Audit, Mark } from '../../support/audit.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed.ts'
import { newKey } from '../../support/objects.ts'
import type { RawOptions } from '../../support/raw.ts'

/** A key as the API server has it; status is empty before the operator has seen it. */
export interface StoredKey extends KubeObject {
  readonly spec: OwnedAccessKeySpec
  readonly status: OwnedAccessKeyStatus
}

/** What is told about a key. */
export interface StoredEvent {
  readonly type: string
  readonly reason: string
  readonly message: string
}

/** Keys are named by the object that was read last, or by name. */
type Named = string | Pick<StoredKey, 'metadata'>

/** The keys of a control plane. All but `read` throw when the API server refuses. */
export interface Keys {
  /** Of user ada unless the spec says otherwise, under a name of its own. */
  create(spec?: OwnedAccessKeySpec, metadata?: Partial<ObjectMeta>): Promise<StoredKey>
  /** null when there is none. */
  read(key: Named): Promise<StoredKey | null>
  /** A merge patch, or a JSON patch where it is a list. */
  patch(key: Named, patch: object): Promise<StoredKey>
  /** Server-side apply with force by a field manager; absent, the object is created. */
  apply(key: Named, manager: string, parts: object, subresource?: 'status'): Promise<StoredKey>
  /** Records a use as the gateway does. */
  use(key: Named, atMs: number): Promise<StoredKey>
  remove(key: Named): Promise<void>
  /** Waits until the key is as wanted. */
  until(key: Named, what: string, isSo: (key: StoredKey) => boolean): Promise<StoredKey>
  /** Waits until Ready shows this reason for what spec says now. */
  shown(key: Named, reason: string): Promise<StoredKey>
  /** Waits until there is no such object. */
  gone(key: Named): Promise<void>
  /** What was told about the object by now. */
  events(key: StoredKey): Promise<readonly StoredEvent[]>
}

/** How long the operator may take for anything, on a busy machine. */
export const SOON = { withinMs: 20_000 }

/** How long an event may take: they go out ten a second, and many tests share the operator. */
export const ONCE_TOLD = { withinMs: 40_000 }

/** The keys of a control plane. */
export function keysOf({ raw }: Pick<TestControlPlane, 'raw'>): Keys {
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
  const read = async (key: Named): Promise<StoredKey | null> => {
    const { code, body } = await raw<StoredKey>('GET', pathTo(key))
    if (code === 404) return null
    expect(code).toBe(200)
    return withStatus(body)
  }
  const patch = async (key: Named, body: object, subresource?: 'status'): Promise<StoredKey> => {
    const contentType = `application/${Array.isArray(body) ? 'json' : 'merge'}-patch+json`
    return withStatus(await ask('PATCH', pathTo(key, subresource), body, { contentType }))
  }
  const until: Keys['until'] = (key, what, isSo) =>
    eventually(
      `${nameOf(key)} ${what}`,
      async () => {
        const now = await read(key)
        if (now && isSo(now)) return now
        throw new Error(JSON.stringify(now?.status ?? now))
      },
      SOON,
    )
  return {
    create: async (spec, metadata) =>
      withStatus(await ask('POST', pathOf(ACCESS_KEYS, {}), newKey(spec, metadata))),
    read,
    patch,
    apply: async (
      key,
      manager,
      { metadata = {}, ...parts }: { metadata?: object },
      subresource,
    ) => {
      const { apiVersion, kind } = newKey()
      const body = { apiVersion, kind, metadata: { ...metadata, name: nameOf(key) }, ...parts }
      const path = `${pathTo(key, subresource)}?fieldManager=${manager}&force=true`
      const contentType = 'application/apply-patch+yaml'
      return withStatus(await ask('PATCH', path, body, { contentType }))
    },
    use: (key, atMs) => patch(key, { status: { lastActivity: timestamp(atMs) } }, 'status'),
    remove: async (key) => void (await ask('DELETE', pathTo(key))),
    until,
    shown: (key, reason) =>
      until(key, `is ${reason}`, ({ metadata, status }) => {
        const ready = conditionOf(status.conditions ?? [], 'Ready')
        return ready?.reason === reason && status.observedGeneration === metadata.generation
      }),
    gone: async (key) => {
      const isGone = async () => (await read(key)) === null || undefined
      await eventually(`${nameOf(key)} is gone`, isGone, SOON)
    },
    events: async ({ metadata: { uid } }) => {
      const selector = encodeURIComponent(`involvedObject.uid=${uid}`)
      const path = `/api/v1/namespaces/default/events?fieldSelector=${selector}`
      return (await ask<{ readonly items: readonly StoredEvent[] }>('GET', path)).items
    },
  }
}

/** When the object was created, in epoch milliseconds. */
export const createdMs = ({ metadata }: StoredKey): number => Date.parse(metadata.creationTimestamp)

/** Waits until whatever is made now is younger than that key: creation has whole seconds. */
export async function outlived(key: StoredKey): Promise<void> {
  const isLater = () => Date.now() >= createdMs(key) + 1000 || undefined
  await eventually('the next second begins', isLater, SOON)
}

/** The time that many seconds after another, as status writes it. */
export const textAfter = (fromMs: number, seconds: number): string =>
  timestamp(fromMs + seconds * 1000)

/** Metadata of a key that was first seen that many seconds ago, as a restore brings it (2.8). */
export const seenAgo = (seconds: number): { readonly annotations: Record<string, string> } => ({
  annotations: { [CREATED_ANNOTATION]: textAfter(Math.floor(Date.now() / 1000) * 1000, -seconds) },
})

/** A condition of a key; fails where there is none. */
export function condition({ status }: StoredKey, type: string): Condition {
  const found = conditionOf(status.conditions ?? [], type)
  if (!found) throw new Error(`there is no condition ${type}`)
  return found
}

/** The operator has adopted the key: finalizer, annotation and key are there. */
export const isAdopted = ({ metadata, spec }: StoredKey): boolean =>
  (metadata.finalizers ?? []).includes(REVOKE_FINALIZER) &&
  CREATED_ANNOTATION in (metadata.annotations ?? {}) &&
  Boolean(spec.key)

/** What the operator wrote to an object since a mark: verb and subresource, code unless it was 200. */
export async function writesTo(
  { metadata: { name } }: StoredKey,
  audit: Audit,
  mark: Mark,
): Promise<readonly string[]> {
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
  return writes
    .filter((write) => write.resource === ACCESS_KEYS.plural && write.name === name)
    .map(({ verb, subresource, code }) =>
      `${verb} ${subresource} ${code === 200 ? '' : code}`.trim(),
    )
}

/** The field set of the operator's applies; undefined where it has none. */
export const fieldsOfOperator = ({ metadata }: StoredKey) =>
  metadata.managedFields?.find(
    ({ manager, subresource }) => manager === FIELD_MANAGER && !subresource,
  )?.fieldsV1

const nameOf = (key: Named): string => (typeof key === 'string' ? key : key.metadata.name)

const pathTo = (key: Named, subresource?: 'status'): string =>
  pathOf(ACCESS_KEYS, { name: nameOf(key) }, subresource)

const withStatus = (key: StoredKey): StoredKey => ({ ...key, status: key.status ?? {} })
