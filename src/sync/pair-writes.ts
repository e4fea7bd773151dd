// Writes to a virtual object and its host object, each conditional on the object that was read (contract 18.3, 19.7).
import type { Resource } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import { nestedMap, nestedString } from '../domain/json/field-path.ts'
import { type JsonMap, mapFromEntries, sameJson } from '../domain/json/json.ts'
import { StatusError, isConflict, isTestFailed } from '../kube/client/api-error.ts'
import type { KubeClient, NewObject, PatchOperation } from '../kube/client/client.ts'
import { type Outcome, done } from '../kube/controller/controller.ts'
import type { ObjectSource } from '../kube/informer/store.ts'
import type { Clock } from '../runtime/clock.ts'
import type { WritesWithoutChange } from './no-change.ts'
import type { SyncReport } from './report.ts'
import type { WrittenMetadata } from './rules/metadata.ts'
import { specOf, withoutNames } from './rules/service-type.ts'
import type { KindTranslator } from './rules/translator.ts'
import { NOT_STABLE } from './rules/version.ts'
import type { SyncedObject } from './synced-object.ts'
import type { ObjectPair } from './translation.ts'
import type { WritePace } from './write-pace.ts'

/** Why objects are written, for metrics. */
export const SYNC_WRITE_REASONS = ['create', 'update', 'delete', 'back-flow', 'unstable'] as const

/** One of the two clusters, for the objects of one kind. */
interface ClusterSide {
  readonly client: KubeClient
  readonly objects: ObjectSource<SyncedObject>
}

/** The labels and annotations that this process wrote last, of the virtual object with this uid. */
interface LastWrite {
  readonly uid: string
  readonly metadata: WrittenMetadata
}

/** Dependencies of the writes of one kind. */
export interface WriteDeps {
  readonly resource: Resource
  readonly virtual: ClusterSide
  readonly host: ClusterSide
  /** By the key of the virtual object. */
  readonly written: Map<string, LastWrite>
  readonly noChange: WritesWithoutChange
  readonly pace: { readonly virtual: WritePace; readonly host: WritePace }
  readonly report: SyncReport
  readonly clock: Clock
}

/** The two objects as last read; host null = it does not exist. */
export interface CachedPair {
  readonly virtual: SyncedObject
  readonly host: SyncedObject | null
}

/** The labels and annotations of both objects. */
export const metadataOf = ({ virtual, host }: ObjectPair): WrittenMetadata => ({
  virtual: nestedMap(virtual, ['metadata']),
  host: nestedMap(host ?? {}, ['metadata']),
})

/** Deletes the host object that was read; the event of its end queues the key again. */
export async function deleteHost(
  { name, namespace, uid, resourceVersion }: SyncedObject,
  { host, resource }: WriteDeps,
): Promise<Outcome> {
  await host.client.delete(resource, { name, namespace }, { uid, resourceVersion }, 'delete')
  return done
}

/** Keeps the verdict on the host object, so that a restart writes nothing either. Beyond the pace it is left out. */
export async function keepVerdict(
  key: string,
  { name, namespace, resourceVersion }: SyncedObject,
  verdict: string,
  { host, resource, pace }: WriteDeps,
): Promise<void> {
  if (pace.host.delayMs(key) > 0) return
  const annotation = `/metadata/annotations/${NOT_STABLE.replaceAll('/', '~1')}`
  const operations: readonly PatchOperation[] = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: annotation, value: verdict },
  ]
  const stored = await host.client.patch(resource, { name, namespace }, operations, 'unstable')
  pace.host.wrote(key)
  host.objects.observe(stored)
}

/**
 * When a created object is looked at again: where the watch breaks right after the create, it may show neither the
 * object nor that somebody has deleted it.
 */
const CREATED_SEEN_MS = 10_000

/** Writes the virtual object first: a syncer that ends in between finds the value of the host there. */
export async function writePair(
  key: string,
  cached: CachedPair,
  wanted: ObjectPair,
  deps: WriteDeps,
  translator: KindTranslator,
): Promise<Outcome> {
  const { report, pace, clock, written } = deps
  const { uid } = cached.virtual
  const isVirtualChanged = !sameJson(wanted.virtual, cached.virtual.object)
  const isHostChanged =
    wanted.host !== null &&
    (cached.host === null || !sameJson(wanted.host, cached.host.object)) &&
    !deps.noChange.has(key, wanted.host, cached.host)
  const delayMs = Math.max(
    isVirtualChanged ? pace.virtual.delayMs(key) : 0,
    isHostChanged ? pace.host.delayMs(key) : 0,
  )
  if (delayMs > 0) {
    report.state(key, 'delayed')
    return { result: 'later', atMs: clock.nowMs() + delayMs }
  }
  const refusal = isVirtualChanged ? await writeBack(key, cached, wanted.virtual, deps) : null
  if (wanted.host === null) return settled(refusal)
  let host = wanted.host
  if (isHostChanged) {
    const stored = await refusalReported(key, cached, 'host', deps, () =>
      writeHost(key, cached.host, host, deps, translator),
    )
    pace.host.wrote(key)
    report.wrote('toHost')
    if (stored === null) {
      report.state(key, 'waiting')
      return settled(refusal)
    }
    host = stored
  }
  if (refusal !== null) throw refusal
  written.set(key, { uid, metadata: metadataOf({ virtual: wanted.virtual, host }) })
  report.inStep(key, isVirtualChanged || isHostChanged)
  return cached.host === null ? { result: 'later', atMs: clock.nowMs() + CREATED_SEEN_MS } : done
}

function settled(refusal: StatusError | null): Outcome {
  if (refusal !== null) throw refusal
  return done
}

/**
 * Writes what flows back. A refusal of the virtual cluster is returned, to be thrown once the host has its changes: a
 * node port that is taken in the virtual cluster must not keep a Service from it.
 */
async function writeBack(
  key: string,
  cached: CachedPair,
  wanted: JsonMap,
  deps: WriteDeps,
): Promise<StatusError | null> {
  try {
    await refusalReported(key, cached, 'virtual cluster', deps, () =>
      writeVirtual(cached.virtual, wanted, deps),
    )
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
  deps.pace.virtual.wrote(key)
  deps.report.wrote('toVirtual')
  return null
}

/** Writes the fields that flow back; the status of a Service is written apart. */
async function writeVirtual(
  { name, namespace, object }: SyncedObject,
  wanted: JsonMap,
  { resource, virtual }: WriteDeps,
): Promise<void> {
  const { client, objects } = virtual
  const main = mapFromEntries([
    ...Object.entries(wanted).filter(([field]) => field !== 'status'),
    ['status', object['status']],
  ])
  let stored = object
  if (!sameJson(main, object)) {
    const answer = await client.replace(resource, main as unknown as KubeObject, 'back-flow')
    objects.observe(answer)
    stored = answer as unknown as JsonMap
  }
  const loadBalancer = nestedMap(wanted, ['status', 'loadBalancer'])
  if (sameJson(loadBalancer, nestedMap(object, ['status', 'loadBalancer']))) return
  const operations: readonly PatchOperation[] = [
    {
      op: 'test',
      path: '/metadata/resourceVersion',
      value: nestedString(stored, ['metadata', 'resourceVersion']),
    },
    { op: 'add', path: '/status/loadBalancer', value: loadBalancer },
  ]
  const ref = { name, namespace }
  objects.observe(await client.patch(resource, ref, operations, 'back-flow', 'status'))
}

/** @returns the object as stored; null = it is deleted first, and created when it is gone */
async function writeHost(
  key: string,
  before: SyncedObject | null,
  wanted: JsonMap,
  deps: WriteDeps,
  translator: KindTranslator,
): Promise<JsonMap | null> {
  const { client, objects } = deps.host
  if (before === null) return createHost(wanted, deps)
  if (translator.needsRecreation(wanted, before.object)) {
    await deleteHost(before, deps)
    return null
  }
  const stored = await client.replace(deps.resource, wanted as unknown as KubeObject, 'update')
  objects.observe(stored)
  if (stored.metadata.resourceVersion === before.resourceVersion)
    deps.noChange.add(key, wanted, before)
  return stored as unknown as JsonMap
}

const HEALTH_PORT = 'healthCheckNodePort'

/** Creates it without its health check port where the host refuses that: the host takes its own then (18.4). */
async function createHost(wanted: JsonMap, { host, resource }: WriteDeps): Promise<JsonMap> {
  const create = async (object: JsonMap): Promise<JsonMap> =>
    (await host.client.create(
      resource,
      object as unknown as NewObject,
      'create',
    )) as unknown as JsonMap
  try {
    return await create(wanted)
  } catch (error) {
    const spec = specOf(wanted)
    if (!refusesHealthPort(error) || !Object.hasOwn(spec, HEALTH_PORT)) throw error
    return create({ ...wanted, spec: withoutNames(spec, [HEALTH_PORT]) })
  }
}

/** A wrong port is a 422 that names the field. A taken one is a 500, of which no text is kept: it may quote values. */
const refusesHealthPort = (error: unknown): boolean =>
  error instanceof StatusError &&
  ((error.code === 422 && error.message.includes(HEALTH_PORT)) || error.code === 500)

/** Reports what a cluster refuses, but for conflicts, which mean a stale cache. */
async function refusalReported<T>(
  key: string,
  { virtual }: CachedPair,
  by: string,
  { report }: WriteDeps,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (isRefusal(error)) report.notWritten(key, virtual, by, error)
    throw error
  }
}

const isRefusal = (error: unknown): error is StatusError =>
  error instanceof StatusError && !isConflict(error) && !isTestFailed(error)
