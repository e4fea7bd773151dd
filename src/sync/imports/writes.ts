// Writes the copy of an import, at the pace of all writes to one object and conditional on the copy that was read
// (contract 18.3, 19.7).
import type { KubeObject } from '../../api/objects.ts'
import type { KubeClient, NewObject } from '../../kube/client/client.ts'
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import type { Clock } from '../../runtime/clock.ts'
import { SYNCED_RESOURCES, type SyncedKind } from '../objects/synced-kinds.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { SyncSources } from '../sources.ts'
import type { SyncObserver } from '../writes/observer.ts'
import { pacedWrite, type WritePace } from '../writes/write-pace.ts'
import { importKey, type ReconciledImport } from './name.ts'
import type { ImportPlan } from './plan.ts'
import { type ImportRecords, recordOf } from './records.ts'
import type { ImportReport } from './report.ts'

/** Dependencies of the writes. */
export interface ImportWriteDeps {
  /** Of the virtual cluster. */
  readonly client: KubeClient
  readonly sources: SyncSources
  readonly pace: WritePace
  readonly records: ImportRecords
  readonly report: ImportReport
  readonly observer: (kind: SyncedKind) => SyncObserver
  readonly clock: Clock
}

/** A plan that writes. */
type WritingPlan = Exclude<ImportPlan, { readonly step: 'nothing' }>

/** A write of a copy. */
interface ImportWrite {
  readonly name: ReconciledImport
  readonly plan: WritingPlan
  /** As last read; null = it does not exist. */
  readonly copy: SyncedObject | null
  /** As last read; null = it does not exist. */
  readonly host: SyncedObject | null
}

/** Writes the copy, later if its pace says so. @throws as ImportReport.refusalReported */
export async function writeImport(
  { name, plan, copy, host }: ImportWrite,
  deps: ImportWriteDeps,
): Promise<Outcome> {
  const { clock, observer, pace, records, report } = deps
  const record = recordOf(name, records)
  const sent = plan.step === 'delete' ? null : plan.object
  const paced = pacedWrite(host, sent)
  const { delayMs } = pace.waitOf(importKey(name), paced, record)
  if (delayMs > 0) return { result: 'later', atMs: clock.nowMs() + delayMs }
  await report.refusalReported({ name, isKnown: copy !== null, sent }, () =>
    write(name.kind, plan, copy, deps),
  )
  pace.wrote(importKey(name), paced, record)
  observer(name.kind).wrote('toVirtual')
  return done
}

async function write(
  kind: SyncedKind,
  plan: WritingPlan,
  copy: SyncedObject | null,
  { client, sources }: ImportWriteDeps,
): Promise<void> {
  const resource = SYNCED_RESOURCES[kind]
  switch (plan.step) {
    case 'create': {
      const { version: apiVersion, kind: named } = resource
      const object = { ...plan.object, apiVersion, kind: named } as unknown as NewObject
      // Before the watch brings it: without its last reference, an unknown copy would be forgotten and stay.
      sources.virtual[kind].observe(await client.create(resource, object, 'import'))
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
    default:
      return plan satisfies never
  }
}
