// The controller of imports: keeps the copies in the virtual cluster equal to their host objects (contract 19.5).
import type { KubeObject } from '../../api/objects.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { isRefusal, StatusError, withoutDetail } from '../../kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../../kube/client/client.ts'
import {
  type ControllerSpec,
  onChange,
  onSignal,
  type Watch,
} from '../../kube/controller/builder.ts'
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import { objectKey } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isMarkedAsImport } from '../kinds/imported-copy.ts'
import { type HostPlace, importSourceOf, shortDigest, virtualNameOf } from '../objects/host-name.ts'
import {
  SYNCED_KINDS,
  SYNCED_RESOURCES,
  type SyncedKind,
  syncedKindOf,
} from '../objects/synced-kinds.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { ReferencedObjects } from '../references/follow.ts'
import type { SyncSources } from '../sources.ts'
import type { SyncObserver } from '../writes/observer.ts'
import { refusalNote } from '../writes/refusal-note.ts'
import { type KeepsLastWrite, pacedWrite, WritePace } from '../writes/write-pace.ts'
import type { ImportName, ImportStates } from './follow.ts'
import { type ImportPlan, planImport } from './plan.ts'

/** The name of the controller of imports, in metrics and logs. */
export const IMPORTS_CONTROLLER = 'sync-imports'

/** Dependencies of the controller of imports. */
interface ImportDeps {
  readonly place: HostPlace
  readonly clients: { readonly virtual: KubeClient }
  readonly sources: SyncSources
  readonly references: ReferencedObjects
  readonly imports: ImportStates
  /** Records Events in the virtual cluster. */
  readonly events: EventRecorder
  readonly observer: (kind: SyncedKind) => SyncObserver
  readonly workers: number
  readonly clock: Clock
}

/** The name of a copy in one reconcile, which its lines and Events name. */
interface ReconciledImport extends ImportName {
  readonly context: ReconcileContext
}

/** What the controller remembers of one copy. */
interface ImportState extends KeepsLastWrite {
  /** Digests of the referrers and refusals that were reported, until the copy is in step; null = none was. */
  reported: Set<string> | null
}

/** What the controller remembers of all copies, by its keys. The times of writes end by time alone. */
interface ImportMemory {
  readonly pace: WritePace
  readonly states: Map<string, ImportState>
}

/** The controller of imports; a key is the kind and the virtual name, such as `secrets/shop/db`. */
export function importsController(deps: ImportDeps): ControllerSpec {
  const { sources, clock } = deps
  const memory: ImportMemory = { pace: new WritePace(clock), states: new Map() }
  return {
    name: IMPORTS_CONTROLLER,
    workers: deps.workers,
    reconcile: (key, context) => reconcile({ ...importNameOf(key), context }, deps, memory),
    objectOf: (key) => {
      const name = importNameOf(key)
      return sources.virtual[name.kind].getByKey(name.key) ?? virtualNameOf(name.key)
    },
    reads: SYNCED_KINDS.flatMap((kind) => [sources.virtual[kind], sources.candidates[kind]]),
    watches: importWatches(deps),
  }
}

function importWatches({ imports, references, sources }: ImportDeps): readonly Watch[] {
  const isConcerned = (kind: SyncedKind, key: string, ...objects: (SyncedObject | undefined)[]) =>
    references.isReferenced(kind, key) ||
    objects.some((object) => object && isMarkedAsImport(object.object))
  return [
    ...SYNCED_KINDS.flatMap((kind) => [
      onChange(sources.virtual[kind], ({ key, before, after }) =>
        isConcerned(kind, key, before, after) ? [keyOf({ kind, key })] : [],
      ),
      onChange(sources.candidates[kind], ({ key }) => imports.namesOf(kind, key).map(keyOf)),
    ]),
    onSignal(references, (change) => [keyOf(change)]),
    onSignal(sources.access, (namespace) =>
      imports
        .names()
        .filter(({ key }) => virtualNameOf(key).namespace === namespace)
        .map(keyOf),
    ),
    (enqueue) => {
      for (const name of imports.names()) enqueue(keyOf(name), 'resync')
    },
  ]
}

const keyOf = ({ kind, key }: ImportName): string => `${kind}/${key}`

function importNameOf(key: string): ImportName {
  const at = key.indexOf('/')
  return { kind: key.slice(0, at) as SyncedKind, key: key.slice(at + 1) }
}

async function reconcile(
  importName: ReconciledImport,
  deps: ImportDeps,
  memory: ImportMemory,
): Promise<Outcome> {
  const { kind, key } = importName
  const { place, sources, references } = deps
  const [virtual, candidates] = [sources.virtual[kind], sources.candidates[kind]]
  const name = virtualNameOf(key)
  const source = importSourceOf(name, place)
  const isReferenced = references.isReferenced(kind, key)
  // An object that was not read yet may exist; its first read queues the key again.
  if (!virtual.isSynced(name) || (isReferenced && !candidates.isSynced(source))) {
    if (!isReferenced) forget(importName, memory)
    return done
  }
  const copy = virtual.getByKey(key) ?? null
  const host = candidates.getByKey(objectKey(source)) ?? null
  const plan = planImport({
    kind,
    name,
    virtualCluster: place.virtualCluster,
    isReferenced,
    virtual: copy && copy.object,
    host: host && host.object,
  })
  if (plan.step !== 'nothing') return writePaced({ importName, plan, copy, host }, deps, memory)
  if (copy === null && !isReferenced) forget(importName, memory)
  else refusalEnded(importName, memory)
  return done
}

/** A write of a copy, by its plan. */
interface ImportWrite {
  readonly importName: ReconciledImport
  readonly plan: ImportPlan
  /** null = it does not exist. */
  readonly copy: SyncedObject | null
  /** null = it does not exist. */
  readonly host: SyncedObject | null
}

/** Writes the copy when its pace allows, and reports a refusal. */
async function writePaced(
  { importName, plan, copy, host }: ImportWrite,
  deps: ImportDeps,
  memory: ImportMemory,
): Promise<Outcome> {
  const { kind, key } = importName
  const state = stateOf(importName, memory)
  const sent = 'object' in plan ? plan.object : null
  const paced = pacedWrite(host, sent)
  const { delayMs } = memory.pace.waitOf(keyOf(importName), paced, state)
  if (delayMs > 0) return { result: 'later', atMs: deps.clock.nowMs() + delayMs }
  try {
    await write(kind, plan, copy, deps)
    memory.pace.wrote(keyOf(importName), paced, state)
    deps.observer(kind).wrote('toVirtual')
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    const isHidden = SYNCED_RESOURCES[kind].kind === 'Secret'
    const loggable = isHidden ? withoutDetail(error, `import of Secret ${key}`) : error
    if (!isRefusal(error, copy !== null)) throw loggable
    reportRefused(importName, { error, sent, loggable }, deps, state)
    const { retryAfterMs } = error
    throw new ReportedFailure(loggable.message, { retryAfterMs, cause: loggable })
  }
  return done
}

function stateOf(name: ImportName, { states }: ImportMemory): ImportState {
  const state = states.get(keyOf(name)) ?? { lastWrite: null, reported: null }
  states.set(keyOf(name), state)
  return state
}

async function write(
  kind: SyncedKind,
  plan: ImportPlan,
  copy: SyncedObject | null,
  { clients: { virtual: client }, sources }: ImportDeps,
): Promise<void> {
  const resource = SYNCED_RESOURCES[kind]
  switch (plan.step) {
    case 'create': {
      const { group: _, version: apiVersion, kind: named } = resource
      const object = { ...plan.object, apiVersion, kind: named } as unknown as NewObject
      await client.create(resource, object, 'import')
      return
    }
    case 'update': {
      const object = plan.object as unknown as KubeObject
      sources.virtual[kind].observe(await client.replace(resource, object, 'import'))
      return
    }
    case 'delete':
      if (copy) await client.delete(resource, copy, copy, 'import')
      return
    case 'nothing':
      return
    default:
      return plan satisfies never
  }
}

/** One line when a refusal of the copy ends. */
function refusalEnded(name: ReconciledImport, { states }: ImportMemory): void {
  const state = states.get(keyOf(name))
  if (state === undefined || state.reported === null) return
  state.reported = null
  const { kind } = SYNCED_RESOURCES[name.kind]
  name.context.log.info({ kind }, 'an import is in step again')
}

/** Forgets a copy that no reference names any more. */
function forget(name: ReconciledImport, memory: ImportMemory): void {
  refusalEnded(name, memory)
  memory.states.delete(keyOf(name))
}

/** A refused write of a copy. */
interface RefusedImport {
  readonly error: StatusError
  /** null = the copy was to be deleted. */
  readonly sent: JsonMap | null
  /** The error as it may be logged. */
  readonly loggable: StatusError
}

/** Events about an import stand on the objects that name it: the import itself may not exist. */
function reportRefused(
  name: ReconciledImport,
  { error, sent, loggable }: RefusedImport,
  { references, sources, events, observer }: ImportDeps,
  state: ImportState,
): void {
  const { kind, key } = name
  const { log, reconcileID } = name.context
  const { kind: named } = SYNCED_RESOURCES[kind]
  const isNew = state.reported === null
  state.reported ??= new Set()
  const { reported } = state
  if (isNew) log.warn({ kind: named, because: loggable.message }, 'an import is refused')
  // The API server may quote values.
  const because = refusalNote(error, named === 'Secret', sent)
  const note = `The virtual cluster refuses the import of ${named} ${key} with ${because}`
  observer(kind).failed('NotWritten')
  for (const referrer of references.referrersOf(kind, key)) {
    const synced = syncedKindOf(referrer.kind)
    const object = synced && sources.virtual[synced].getByKey(referrer.key)
    if (!object) continue
    const { name: regarded, namespace, uid } = object
    const discriminator = shortDigest(loggable.message)
    const report = `${uid} ${discriminator}`
    if (reported.has(report)) continue
    reported.add(report)
    events.record({
      regarding: { apiVersion: 'v1', kind: referrer.kind, name: regarded, namespace, uid },
      type: 'Warning',
      reason: 'NotWritten',
      action: 'Import',
      note,
      discriminator,
      reconcileID,
    })
  }
}
