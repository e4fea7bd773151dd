// Writes to a virtual object and its host object, each conditional on the object that was read (contract 18.3, 19.7).
import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { type JsonMap, mapFromEntries, sameJson } from '../../domain/json/json.ts'
import { StatusError } from '../../kube/client/api-error.ts'
import type { KubeClient, NewObject, PatchOperation } from '../../kube/client/client.ts'
import { done, type Outcome } from '../../kube/controller/controller.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'
import type { ObjectSource } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { specOf, withoutNames } from '../kinds/service-type.ts'
import type { KindTranslator } from '../kinds/translator.ts'
import { NOT_STABLE } from '../objects/server-fields.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import {
  type PacedWait,
  type PacedWrite,
  pacedWrite,
  type WritePace,
} from '../writes/write-pace.ts'
import type { WrittenMetadata } from './metadata.ts'
import { refusalReported } from './refused-write.ts'
import type { SyncReport } from './report.ts'
import type { ObjectPair } from './translation.ts'
import type { WritesWithoutChange } from './unchanged-writes.ts'

/** Why objects are written, for metrics. */
export const SYNC_WRITE_REASONS = [
  'create',
  'update',
  'delete',
  'back-flow',
  'unstable',
  'import',
] as const

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
export interface PairWriteDeps {
  readonly resource: Resource
  readonly virtual: ClusterSide
  readonly host: ClusterSide
  /** By the key of the virtual object. */
  readonly written: Map<string, LastWrite>
  readonly noChange: { readonly virtual: WritesWithoutChange; readonly host: WritesWithoutChange }
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
  { host, resource }: PairWriteDeps,
): Promise<Outcome> {
  await host.client.delete(resource, { name, namespace }, { uid, resourceVersion }, 'delete')
  return done
}

/**
 * Keeps the verdict on the host object, so that a restart writes nothing either. Beyond the pace of answers it is left
 * out, and where the host refuses it, which is reported.
 */
export async function keepVerdict(
  key: string,
  pair: CachedPair & { readonly host: SyncedObject },
  verdict: string,
  deps: PairWriteDeps,
): Promise<void> {
  const { host, resource, pace, report } = deps
  if (pace.host.waitOf(key, 'answer').delayMs > 0) return
  const { name, namespace, resourceVersion } = pair.host
  const annotation = `/metadata/annotations/${NOT_STABLE.replaceAll('/', '~1')}`
  const operations: readonly PatchOperation[] = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: annotation, value: verdict },
  ]
  const { virtual, host: before } = pair
  const write = { key, virtual, cluster: 'host', isKnown: true, sent: before.object } as const
  try {
    const stored = await refusalReported(write, deps, () =>
      host.client.patch(resource, { name, namespace }, operations, 'unstable'),
    )
    pace.host.wrote(key, 'answer')
    pace.virtual.sourceWritten(key, pair.host, stored.metadata.resourceVersion)
    report.wrote('toHost')
    host.objects.observe(stored)
  } catch (error) {
    if (!(error instanceof ReportedFailure)) throw error
  }
}

/**
 * When a created object is looked at again: where the watch breaks right after the create, it may show neither the
 * object nor that somebody has deleted it.
 */
const CREATED_SEEN_MS = 10_000

/**
 * Writes the virtual object first: a syncer that ends in between finds the value of the host there. A side that must wait
 * keeps nothing from the other one.
 */
export async function writePair(
  key: string,
  cached: CachedPair,
  wanted: ObjectPair,
  deps: PairWriteDeps,
  translator: KindTranslator,
): Promise<Outcome> {
  const { report, clock, written } = deps
  const { uid } = cached.virtual
  const changes = changesOf(key, cached, wanted, deps)
  const waits = waitsOf(key, changes, deps)
  const isDue = (side: keyof PairChanges): boolean => changes[side] !== null && waits[side] === null
  const refusal = isDue('virtual') ? await writtenBack(key, cached, wanted.virtual, deps) : null
  const host =
    isDue('host') && wanted.host
      ? await writtenForth(key, cached, wanted.host, deps, translator)
      : wanted.host
  // What the virtual cluster refuses is not known there: its values must flow back when it takes them.
  if (refusal !== null) throw refusal
  const delayMs = reportedWait(key, cached.virtual, waits, report)
  if (delayMs > 0) return { result: 'later', atMs: clock.nowMs() + delayMs }
  if (wanted.host === null) return done
  if (host === null) {
    report.state(key, 'waiting')
    return done
  }
  written.set(key, { uid, metadata: metadataOf({ virtual: wanted.virtual, host }) })
  report.inStep(key, isDue('virtual') || isDue('host'))
  return cached.host === null ? { result: 'later', atMs: clock.nowMs() + CREATED_SEEN_MS } : done
}

/** What is to be written on each side; null = nothing. */
interface PairChanges {
  readonly virtual: PacedWrite | null
  readonly host: PacedWrite | null
}

function changesOf(
  key: string,
  { virtual, host }: CachedPair,
  wanted: ObjectPair,
  { noChange }: PairWriteDeps,
): PairChanges {
  const isVirtualChanged =
    !sameJson(wanted.virtual, virtual.object) && !noChange.virtual.has(key, wanted.virtual, virtual)
  const isHostChanged =
    wanted.host !== null &&
    (host === null || !sameJson(wanted.host, host.object)) &&
    !noChange.host.has(key, wanted.host, host)
  return {
    virtual: isVirtualChanged ? pacedWrite(host, wanted.virtual) : null,
    host: isHostChanged ? pacedWrite(virtual, wanted.host) : null,
  }
}

/** The wait of each side's write; null = none, or nothing is to be written there. */
type PairWaits = Readonly<Record<keyof PairChanges, PacedWait | null>>

function waitsOf(key: string, changes: PairChanges, { pace }: PairWriteDeps): PairWaits {
  const of = (side: keyof PairChanges): PacedWait | null => {
    const wait = changes[side] && pace[side].waitOf(key, changes[side])
    return wait !== null && wait.delayMs > 0 ? wait : null
  }
  return { virtual: of('virtual'), host: of('host') }
}

/** Reports answers that wait. @returns milliseconds until the first write that waits may be written; 0 = none waits */
function reportedWait(
  key: string,
  virtual: SyncedObject,
  waits: PairWaits,
  report: SyncReport,
): number {
  if (waits.virtual?.isAnswer) report.delayed(key, virtual, 'virtual cluster')
  if (waits.host?.isAnswer) report.delayed(key, virtual, 'host')
  const late = [waits.virtual, waits.host].filter((wait) => wait !== null)
  return late.length === 0 ? 0 : Math.min(...late.map(({ delayMs }) => delayMs))
}

/** @returns why the virtual cluster refuses the object; null = it is written. A refusal keeps nothing from the host. */
async function writtenBack(
  key: string,
  { virtual, host }: CachedPair,
  wanted: JsonMap,
  deps: PairWriteDeps,
): Promise<ReportedFailure | null> {
  try {
    const write = { key, virtual, cluster: 'virtual cluster', isKnown: true, sent: wanted } as const
    const version = await refusalReported(write, deps, () => writeVirtual(virtual, wanted, deps))
    if (version === virtual.resourceVersion) deps.noChange.virtual.add(key, wanted, virtual)
    deps.pace.host.sourceWritten(key, virtual, version)
  } catch (error) {
    if (error instanceof ReportedFailure) return error
    throw error
  }
  deps.pace.virtual.wrote(key, pacedWrite(host, wanted))
  deps.report.wrote('toVirtual')
  return null
}

/** @returns as writeHost */
async function writtenForth(
  key: string,
  { virtual, host }: CachedPair,
  wanted: JsonMap,
  deps: PairWriteDeps,
  translator: KindTranslator,
): Promise<JsonMap | null> {
  const isKnown = host !== null
  const write = { key, virtual, cluster: 'host', isKnown, sent: wanted } as const
  const stored = await refusalReported(write, deps, () =>
    writeHost(key, host, wanted, deps, translator),
  )
  // An object that was deleted to be made anew is made at once.
  if (stored !== null) {
    deps.pace.host.wrote(key, pacedWrite(virtual, wanted))
    const version = nestedString(stored, ['metadata', 'resourceVersion'])
    if (host) deps.pace.virtual.sourceWritten(key, host, version)
  }
  deps.report.wrote('toHost')
  return stored
}

/** Writes the fields that flow back; the status of a Service is written apart. @returns the object's resourceVersion */
async function writeVirtual(
  { name, namespace, object }: SyncedObject,
  wanted: JsonMap,
  { resource, virtual }: PairWriteDeps,
): Promise<string> {
  const { client, objects } = virtual
  const main = mapFromEntries([
    ...Object.entries(wanted).filter(([field]) => field !== 'status'),
    ['status', object['status']],
  ])
  let version = nestedString(object, ['metadata', 'resourceVersion'])
  if (!sameJson(main, object)) {
    const answer = await client.replace(resource, main as unknown as KubeObject, 'back-flow')
    objects.observe(answer)
    version = answer.metadata.resourceVersion
  }
  const loadBalancer = nestedMap(wanted, ['status', 'loadBalancer'])
  if (sameJson(loadBalancer, nestedMap(object, ['status', 'loadBalancer']))) return version
  const operations: readonly PatchOperation[] = [
    { op: 'test', path: '/metadata/resourceVersion', value: version },
    { op: 'add', path: '/status/loadBalancer', value: loadBalancer },
  ]
  const ref = { name, namespace }
  const answer = await client.patch(resource, ref, operations, 'back-flow', 'status')
  objects.observe(answer)
  return answer.metadata.resourceVersion
}

/** @returns the object as stored; null = it is deleted first, and created when it is gone */
async function writeHost(
  key: string,
  before: SyncedObject | null,
  wanted: JsonMap,
  deps: PairWriteDeps,
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
    deps.noChange.host.add(key, wanted, before)
  return stored as unknown as JsonMap
}

const HEALTH_PORT = 'healthCheckNodePort'

/** Creates it without its health check port where the host refuses that: the host takes its own then (18.4). */
async function createHost(wanted: JsonMap, { host, resource }: PairWriteDeps): Promise<JsonMap> {
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

/** 422 names the field where the port is wrong. A port that is taken is a 500, whose message may not be read. */
const refusesHealthPort = (error: unknown): boolean =>
  error instanceof StatusError &&
  (error.code === 500 || (error.code === 422 && error.message.includes(HEALTH_PORT)))
