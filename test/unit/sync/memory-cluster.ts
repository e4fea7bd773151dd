// A cluster in memory for the objects of one kind: versions, preconditions, finalizers, and what the API server hands out.
import type { KubeObject } from '../../../src/api/objects.ts'
import {
  nestedField,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../../src/domain/json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, sameJson } from '../../../src/domain/json/json.ts'
import { StatusError } from '../../../src/kube/client/api-error.ts'
import type { KubeClient, PatchOperation } from '../../../src/kube/client/client.ts'
import { Store, objectKey } from '../../../src/kube/informer/store.ts'
import { type SyncedObject, syncedObject } from '../../../src/sync/objects/synced-object.ts'

/** A write that the cluster got. */
export interface ClusterWrite {
  readonly verb: 'create' | 'replace' | 'patch' | 'delete'
  readonly name: string
  readonly reason: string
}

/** A cluster; writes of the client reach the cache at once, unless it lags. */
export interface MemoryCluster {
  readonly client: KubeClient
  readonly cache: Store<SyncedObject>
  readonly writes: ClusterWrite[]
  /** The stored object; null = it does not exist. */
  readonly get: (ref: { readonly name: string; readonly namespace: string }) => JsonMap | null
  /** Creates or changes an object, as another client does. */
  readonly put: (object: JsonMap) => JsonMap
  readonly remove: (ref: { readonly name: string; readonly namespace: string }) => void
  /** Called before each write; throws to refuse it. */
  refuse: (write: ClusterWrite, object: JsonMap) => void
  /** Whether the cache gets nothing but answers to writes, until `deliver`. */
  lags: boolean
  readonly deliver: () => void
}

/** The API server's refusal, as by a schema rule. */
export const refusal = (code: number, reason: string, message = reason): StatusError =>
  new StatusError({ code, reason, message, retryAfterMs: null, isTestFailed: false })

/** @param prefix of the uids, such as `h` */
export function memoryCluster(kind: string, prefix: string): MemoryCluster {
  const objects = new Map<string, JsonMap>()
  const cache = new Store(syncedObject(kind))
  cache.begin()
  cache.end()
  let revision = 0
  let made = 0
  let undelivered: (() => void)[] = []
  const writes: ClusterWrite[] = []

  const tell = (act: () => void): void => void (cluster.lags ? undelivered.push(act) : act())
  const store = (object: JsonMap, before: JsonMap | null): JsonMap => {
    const normal = normalized(object, before, prefix === 'h' ? 30_000 : 31_000)
    const whole = withMetadata(normal, {
      uid: nestedString(before ?? {}, ['metadata', 'uid']) || `${prefix}${(made += 1)}`,
      resourceVersion: nestedField(before ?? {}, ['metadata', 'resourceVersion']) ?? '0',
      creationTimestamp: '2026-01-01T00:00:00Z',
    })
    if (before !== null && sameJson(whole, before)) return before
    revision += 1
    const stored = withMetadata(whole, { resourceVersion: String(revision) })
    objects.set(keyOf(stored), stored)
    tell(() => cache.put(asObject(stored)))
    return stored
  }
  const drop = (object: JsonMap): void => {
    revision += 1
    objects.delete(keyOf(object))
    const gone = withMetadata(object, { resourceVersion: String(revision) })
    tell(() => cache.remove(asObject(gone)))
  }
  const received = (write: ClusterWrite, object: JsonMap): void => {
    cluster.refuse(write, object)
    writes.push(write)
  }
  const found = (ref: { name: string; namespace?: string }): JsonMap => {
    const object = objects.get(objectKey(ref))
    if (!object) throw refusal(404, 'NotFound')
    return object
  }
  const client = {
    create: async (_: unknown, given: unknown, reason: string) => {
      const object = given as JsonMap
      received({ verb: 'create', name: nameOf(object), reason }, object)
      if (objects.has(keyOf(object))) throw refusal(409, 'AlreadyExists')
      return store(object, null)
    },
    replace: async (_: unknown, given: unknown, reason: string) => {
      const object = given as JsonMap
      received({ verb: 'replace', name: nameOf(object), reason }, object)
      const before = found(object['metadata'] as never)
      for (const field of ['resourceVersion', 'uid'])
        if (nestedField(object, ['metadata', field]) !== nestedField(before, ['metadata', field]))
          throw refusal(409, 'Conflict')
      const status = kind === 'Service' ? nestedField(before, ['status']) : object['status']
      return store(setNestedField(object, ['status'], status), before)
    },
    patch: async (
      _: unknown,
      ref: never,
      operations: readonly PatchOperation[],
      reason: string,
    ) => {
      const before = found(ref)
      received({ verb: 'patch', name: nameOf(before), reason }, before)
      return store(operations.reduce(operated, before), before)
    },
    delete: async (
      _: unknown,
      ref: { name: string; namespace?: string },
      conditions: { uid: string; resourceVersion: string },
      reason: string,
    ) => {
      const object = objects.get(objectKey(ref))
      received({ verb: 'delete', name: ref.name, reason }, object ?? {})
      if (!object) return null
      const { uid, resourceVersion } = nestedMap(object, ['metadata'])
      if (uid !== conditions.uid || resourceVersion !== conditions.resourceVersion)
        throw refusal(409, 'Conflict')
      if (nestedField(object, ['metadata', 'finalizers']) === undefined) drop(object)
      else
        store(
          setNestedField(object, ['metadata', 'deletionTimestamp'], '2026-01-02T00:00:00Z'),
          object,
        )
      return null
    },
  } as unknown as KubeClient
  const cluster: MemoryCluster = {
    client,
    cache,
    writes,
    get: (ref) => objects.get(objectKey(ref)) ?? null,
    put: (object) => store(object, objects.get(keyOf(object)) ?? null),
    remove: (ref) => drop(found(ref)),
    refuse: () => undefined,
    lags: false,
    deliver: () => {
      for (const act of undelivered) act()
      undelivered = []
    },
  }
  return cluster
}

const asObject = (object: JsonMap): KubeObject => object as unknown as KubeObject
const nameOf = (object: JsonMap): string => nestedString(object, ['metadata', 'name'])
const keyOf = (object: JsonMap): string => objectKey(nestedMap(object, ['metadata']) as never)
const withMetadata = (object: JsonMap, fields: JsonMap): JsonMap => ({
  ...object,
  metadata: { ...nestedMap(object, ['metadata']), ...fields },
})

function operated(object: JsonMap, { op, path, value }: PatchOperation): JsonMap {
  const names = path
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/'))
  if (op !== 'test') return setNestedField(object, names, value as Json)
  if (!sameJson(nestedField(object, names) ?? null, value as Json))
    throw new StatusError({
      code: 422,
      reason: 'Invalid',
      message: 'test',
      retryAfterMs: null,
      isTestFailed: true,
    })
  return object
}

/** What the API server hands out to a Service, and keeps. Each cluster has node ports of its own. */
function normalized(object: JsonMap, before: JsonMap | null, firstPort: number): JsonMap {
  const spec = nestedMap(object, ['spec'])
  if (object['kind'] !== 'Service') return object
  const type = nestedString(spec, ['type']) || 'ClusterIP'
  const ports = isList(spec['ports']) ? spec['ports'] : []
  const hasNodePorts = type === 'NodePort' || type === 'LoadBalancer'
  const withPorts = ports.map((port, at) =>
    isMap(port)
      ? {
          protocol: 'TCP',
          ...(hasNodePorts ? { nodePort: firstPort + (Number(port['port']) % 1000) + at } : {}),
          ...port,
        }
      : port,
  )
  const clusterIP =
    nestedString(spec, ['clusterIP']) ||
    nestedString(before ?? {}, ['spec', 'clusterIP']) ||
    '10.0.0.1'
  return {
    ...object,
    spec: {
      sessionAffinity: 'None',
      ...spec,
      type,
      ports: withPorts,
      clusterIP,
      clusterIPs: [clusterIP],
    },
    status: nestedMap(object, ['status']),
  }
}
