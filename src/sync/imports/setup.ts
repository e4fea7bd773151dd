// The controller of imports: keeps the copies in the virtual cluster equal to their host objects (contract 19.5).
import type { KubeClient } from '../../kube/client/client.ts'
import {
  type ControllerSpec,
  onChange,
  onSignal,
  type Watch,
} from '../../kube/controller/builder.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isMarkedAsImport } from '../kinds/imported-copy.ts'
import { type HostPlace, virtualNameOf } from '../objects/host-name.ts'
import { SYNCED_KINDS, type SyncedKind } from '../objects/synced-kinds.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { ReferencedObjects } from '../references/follow.ts'
import type { SyncSources } from '../sources.ts'
import type { SyncObserver } from '../writes/observer.ts'
import { WritePace } from '../writes/write-pace.ts'
import type { ImportStates } from './follow.ts'
import { importKey, importNameOf } from './name.ts'
import { createImportReconcile } from './reconcile.ts'
import type { ImportRecords } from './records.ts'
import { ImportReport } from './report.ts'

/** The name of the controller of imports, in metrics and logs. */
export const IMPORTS_CONTROLLER = 'sync-imports'

/** Dependencies of the controller of imports. */
interface ImportSetup {
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

/** The controller of imports; its keys are those of importKey. */
export function importsController(setup: ImportSetup): ControllerSpec {
  const { clients, clock, events, observer, place, references, sources } = setup
  const records: ImportRecords = new Map()
  const report = new ImportReport({ records, references, sources, events, observer })
  const reconcile = createImportReconcile({
    place,
    references,
    client: clients.virtual,
    sources,
    pace: new WritePace(clock),
    records,
    report,
    observer,
    clock,
  })
  return {
    name: IMPORTS_CONTROLLER,
    workers: setup.workers,
    reconcile: (key, context) => reconcile({ ...importNameOf(key), context }),
    objectOf: (text) => {
      const { kind, key } = importNameOf(text)
      return sources.virtual[kind].getByKey(key) ?? virtualNameOf(key)
    },
    reads: SYNCED_KINDS.flatMap((kind) => [sources.virtual[kind], sources.candidates[kind]]),
    watches: importWatches(setup),
  }
}

function importWatches({ imports, references, sources }: ImportSetup): readonly Watch[] {
  const isConcerned = (kind: SyncedKind, key: string, ...objects: (SyncedObject | undefined)[]) =>
    references.isReferenced(kind, key) ||
    objects.some((object) => object && isMarkedAsImport(object.object))
  return [
    ...SYNCED_KINDS.flatMap((kind) => [
      onChange(sources.virtual[kind], ({ key, before, after }) =>
        isConcerned(kind, key, before, after) ? [importKey({ kind, key })] : [],
      ),
      onChange(sources.candidates[kind], ({ key }) => imports.namesOf(kind, key).map(importKey)),
    ]),
    onSignal(references, (change) => [importKey(change)]),
    onSignal(sources.access, (namespace) =>
      imports
        .names()
        .filter(({ key }) => virtualNameOf(key).namespace === namespace)
        .map(importKey),
    ),
    (enqueue) => {
      for (const name of imports.names()) enqueue(importKey(name), 'resync')
    },
  ]
}
