// Writes to a virtual object and its host object, each conditional on the object that was read (contract 18.3, 19.7).
import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { type JsonMap, mapFromEntries, sameJson } from '../../domain/json/json.ts'
import { StatusError } from '../../kube/client/api-error.ts'
import type { KubeClient, NewObject, PatchOperation } from '../../kube/client/client.ts'
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'
import type { ObjectSource } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { KindTranslator } from '../kinds/translator.ts'
import { NOT_STABLE } from '../objects/server-fields.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import {
  type PacedWait,
  type PacedWrite,
  pacedWrite,
  sourceWritten,
  type WritePace,
} from '../writes/write-pace.ts'
import type { ExistingPair } from './pair.ts'
import type { SyncReport } from './report.ts'
import { isUnchangedWrite, type PairState, type PairStates, writeDigest } from './state.ts'
import { metadataOf, type ObjectPair } from './translation.ts'

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
export interface ClusterSide {
  readonly client: KubeClient
  readonly objects: ObjectSource<SyncedObject>
  readonly pace: WritePace
}

/** Dependencies of the writes of one kind. */
export interface PairWriteDeps {
  readonly resource: Resource
  readonly translator: Pick<KindTranslator, 'needsRecreation' | 'createInstead'>
  readonly virtual: ClusterSide
  readonly host: ClusterSide
  readonly states: PairStates
  readonly report: SyncReport
  readonly clock: Clock
}

/** A pair, and how both objects are to be. */
interface PairUpdate {
  readonly pair: ExistingPair
  readonly wanted: ObjectPair
}

/** An update in progress, with the record of its pair. */
type PairWrite = PairUpdate & { readonly state: PairState }

/** Deletes the host object that was read; the event of its end queues the key again. */
export async function deleteHost(
  { name, namespace, uid, resourceVersion }: SyncedObject,
  { host, resource }: PairWriteDeps,
): Promise<Outcome> {
  await host.client.delete(resource, { name, namespace }, { uid, resourceVersion }, 'delete')
  return done
}

/**
 * Keeps the verdict on the host object, so that a restart writes nothing either. Writes nothing if the pace of answers is
 * exceeded; reports a refusal by the host, and returns as usual.
 */
export async function keepVerdict(
  pair: ExistingPair,
  verdict: string,
  deps: PairWriteDeps,
): Promise<void> {
  const { key, host: before } = pair
  if (before === null) return
  const { host, resource, report, states } = deps
  const state = states.of(key)
  if (host.pace.waitOf(key, 'answer', state.host).delayMs > 0) return
  const { name, namespace, resourceVersion } = before
  const annotation = `/metadata/annotations/${NOT_STABLE.replaceAll('/', '~1')}`
  const operations: readonly PatchOperation[] = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: annotation, value: verdict },
  ]
  const write = { pair, cluster: 'host', isKnown: true, sent: before.object } as const
  try {
    const stored = await report.refusalReported(write, () =>
      host.client.patch(resource, { name, namespace }, operations, 'unstable'),
    )
    host.pace.wrote(key, 'answer', state.host)
    sourceWritten(state.virtual, before, stored.metadata.resourceVersion)
    report.wrote('toHost')
    host.objects.observe(stored)
  } catch (error) {
    if (!(error instanceof ReportedFailure)) throw error
  }
}

/**
 * When a created object is reconciled again: where the watch breaks right after the create, it may show neither the
 * object nor its deletion.
 */
const CREATED_SEEN_MS = 10_000

/**
 * Writes the virtual object first: if the syncer ends in between, the value of the host is there. A side whose write must
 * wait does not hold up the other one.
 */
export async function writePair(update: PairUpdate, deps: PairWriteDeps): Promise<Outcome> {
  const { pair, wanted } = update
  const { key, virtual, host: before } = pair
  const { report, clock } = deps
  const state = deps.states.of(key)
  const write: PairWrite = { pair, wanted, state }
  const changes = changesOf(write)
  const waits = waitsOf(write, changes, deps)
  const isDue = (side: keyof PairChanges): boolean => changes[side] !== null && waits[side] === null
  const refusal = isDue('virtual') ? await writeBack(write, deps) : null
  const host =
    isDue('host') && wanted.host ? await writeForth(write, wanted.host, deps) : wanted.host
  // Refused values are not remembered as written: they must flow back when the virtual cluster accepts them.
  if (refusal !== null) throw refusal
  const delayMs = reportedWait(write, waits, report)
  if (delayMs > 0) return { result: 'later', atMs: clock.nowMs() + delayMs }
  if (wanted.host === null) return done
  if (host === null) {
    report.state(key, 'waiting')
    return done
  }
  const metadata = metadataOf({ virtual: wanted.virtual, host })
  state.written = { uid: virtual.uid, metadata }
  report.inStep(pair, isDue('virtual') || isDue('host'))
  return before === null ? { result: 'later', atMs: clock.nowMs() + CREATED_SEEN_MS } : done
}

/** The write that each side needs; null = none. */
interface PairChanges {
  readonly virtual: PacedWrite | null
  readonly host: PacedWrite | null
}

function changesOf({ pair: { virtual, host }, wanted, state }: PairWrite): PairChanges {
  const isVirtualChanged =
    !sameJson(wanted.virtual, virtual.object) &&
    !isUnchangedWrite(state.virtual, wanted.virtual, virtual)
  const isHostChanged =
    wanted.host !== null &&
    (host === null ||
      (!sameJson(wanted.host, host.object) && !isUnchangedWrite(state.host, wanted.host, host)))
  return {
    virtual: isVirtualChanged ? pacedWrite(host, wanted.virtual) : null,
    host: isHostChanged ? pacedWrite(virtual, wanted.host) : null,
  }
}

/** The wait of each side's write; null = it is due, or there is no write. */
type PairWaits = Readonly<Record<keyof PairChanges, PacedWait | null>>

function waitsOf(
  { pair: { key }, state }: PairWrite,
  changes: PairChanges,
  deps: PairWriteDeps,
): PairWaits {
  const of = (side: keyof PairChanges): PacedWait | null => {
    const wait = changes[side] && deps[side].pace.waitOf(key, changes[side], state[side])
    return wait !== null && wait.delayMs > 0 ? wait : null
  }
  return { virtual: of('virtual'), host: of('host') }
}

/** Reports answers that wait. @returns milliseconds until the first write that waits is due; 0 = none waits */
function reportedWait({ pair }: PairWrite, waits: PairWaits, report: SyncReport): number {
  if (waits.virtual?.isAnswer) report.delayed(pair, 'virtual cluster')
  if (waits.host?.isAnswer) report.delayed(pair, 'host')
  const late = [waits.virtual, waits.host].filter((wait) => wait !== null)
  return late.length === 0 ? 0 : Math.min(...late.map(({ delayMs }) => delayMs))
}

/** @returns why the virtual cluster refuses the object; null = it is written. A refusal does not hold up the write to the host. */
async function writeBack(write: PairWrite, deps: PairWriteDeps): Promise<ReportedFailure | null> {
  const { pair, wanted, state } = write
  const { key, virtual, host } = pair
  const { report } = deps
  const sent = wanted.virtual
  const reported = { pair, cluster: 'virtual cluster', isKnown: true, sent } as const
  try {
    const version = await report.refusalReported(reported, () => writeVirtual(virtual, sent, deps))
    if (version === virtual.resourceVersion)
      state.virtual.unchangedWrite = writeDigest(sent, virtual)
    sourceWritten(state.host, virtual, version)
  } catch (error) {
    if (error instanceof ReportedFailure) return error
    throw error
  }
  deps.virtual.pace.wrote(key, pacedWrite(host, sent), state.virtual)
  report.wrote('toVirtual')
  return null
}

/** @returns the host object as stored; null = it is deleted first, and created when it is gone */
async function writeForth(
  { pair, state }: PairWrite,
  wanted: JsonMap,
  deps: PairWriteDeps,
): Promise<JsonMap | null> {
  const { key, virtual, host } = pair
  const isKnown = host !== null
  const reported = { pair, cluster: 'host', isKnown, sent: wanted } as const
  const stored = await deps.report.refusalReported(reported, () => writeHost(host, wanted, deps))
  // The delete of an object that must be created again does not count for the pace: the create follows at once.
  if (stored !== null) {
    deps.host.pace.wrote(key, pacedWrite(virtual, wanted), state.host)
    const version = nestedString(stored, ['metadata', 'resourceVersion'])
    if (host !== null) sourceWritten(state.virtual, host, version)
    if (host?.resourceVersion === version) state.host.unchangedWrite = writeDigest(wanted, host)
  }
  deps.report.wrote('toHost')
  return stored
}

/** Writes the fields that flow back; a Service has another write for its status. @returns the new resourceVersion */
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

/** @returns as writeForth */
async function writeHost(
  before: SyncedObject | null,
  wanted: JsonMap,
  deps: PairWriteDeps,
): Promise<JsonMap | null> {
  const { client, objects } = deps.host
  if (before === null) return createHost(wanted, deps)
  if (deps.translator.needsRecreation(wanted, before.object)) {
    await deleteHost(before, deps)
    return null
  }
  const stored = await client.replace(deps.resource, wanted as unknown as KubeObject, 'update')
  objects.observe(stored)
  return stored as unknown as JsonMap
}

/** Creates the object; if the host refuses it, the kind may have another object to create instead (18.4). */
async function createHost(
  wanted: JsonMap,
  { host, resource, translator }: PairWriteDeps,
): Promise<JsonMap> {
  const create = async (object: JsonMap): Promise<JsonMap> =>
    (await host.client.create(
      resource,
      object as unknown as NewObject,
      'create',
    )) as unknown as JsonMap
  try {
    return await create(wanted)
  } catch (error) {
    const other = error instanceof StatusError ? translator.createInstead(wanted, error) : null
    if (other === null) throw error
    return create(other)
  }
}
