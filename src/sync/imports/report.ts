// Reports imports that the virtual cluster refuses, in the log, in metrics and in Events (contract 19.5, 19.8). The copy
// may not exist, so the Events are recorded on the objects that name it.
import type { JsonMap } from '../../domain/json/json.ts'
import { StatusError, withoutDetail } from '../../kube/client/api-error.ts'
import type { EventRecorder, ObjectEvent } from '../../kube/event-recorder.ts'
import { shortDigest } from '../objects/host-name.ts'
import { SYNCED_RESOURCES, type SyncedKind, syncedKindOf } from '../objects/synced-kinds.ts'
import type { ReferencedObjects } from '../references/follow.ts'
import type { SyncSources } from '../sources.ts'
import type { SyncObserver } from '../writes/observer.ts'
import { refusalNote } from '../writes/refusal-note.ts'
import { reportRefusal } from '../writes/report-refusal.ts'
import { importKey, type ReconciledImport } from './name.ts'
import { type ImportRecords, recordOf } from './records.ts'

/** Dependencies of the reports. */
interface ImportReportOptions {
  readonly records: ImportRecords
  readonly references: Pick<ReferencedObjects, 'referrersOf'>
  readonly sources: Pick<SyncSources, 'virtual'>
  /** Records Events in the virtual cluster. */
  readonly events: EventRecorder
  readonly observer: (kind: SyncedKind) => SyncObserver
}

/** A write of a copy whose refusal is reported. */
interface ReportedImportWrite {
  readonly name: ReconciledImport
  /** Whether the copy existed when it was read. */
  readonly isKnown: boolean
  /** null = the copy is deleted. */
  readonly sent: JsonMap | null
}

/** Reports the refusals of imports, each once on each referrer until the copy is in step. */
export class ImportReport {
  readonly #options: ImportReportOptions

  constructor(options: ImportReportOptions) {
    this.#options = options
  }

  /**
   * Writes, and reports a refusal by the virtual cluster.
   *
   * @throws ReportedFailure for a refusal, else what `act` throws; neither has a message that could quote a Secret's value
   */
  async refusalReported(write: ReportedImportWrite, act: () => Promise<void>): Promise<void> {
    await reportRefusal(act, {
      isKnown: write.isKnown,
      loggable: (error) => loggable(error, write.name),
      report: (error) => this.#refused(write, error),
    })
  }

  /** The copy is in step: logs the end of a refusal, if there was one. */
  inStep(name: ReconciledImport): void {
    const record = this.#options.records.get(importKey(name))
    if (record === undefined || record.reported === null) return
    record.reported = null
    const { kind } = SYNCED_RESOURCES[name.kind]
    name.context.log.info({ kind }, 'an import is in step again')
  }

  /** Forgets an import that no reference names any more. */
  forget(name: ReconciledImport): void {
    this.inStep(name)
    this.#options.records.delete(importKey(name))
  }

  #refused(write: ReportedImportWrite, error: StatusError): void {
    const { events, observer, records } = this.#options
    const { name } = write
    const { kind } = SYNCED_RESOURCES[name.kind]
    const record = recordOf(name, records)
    const because = loggable(error, name).message
    if (record.reported === null) name.context.log.warn({ kind, because }, 'an import is refused')
    record.reported ??= new Set()
    observer(name.kind).failed('NotWritten')
    const refusal = { note: noteOf(write, error), discriminator: shortDigest(because) }
    for (const regarding of this.#referrersOf(name)) {
      const report = `${regarding.uid} ${refusal.discriminator}`
      if (record.reported.has(report)) continue
      record.reported.add(report)
      events.record({
        regarding,
        type: 'Warning',
        reason: 'NotWritten',
        action: 'Import',
        note: refusal.note,
        discriminator: refusal.discriminator,
        reconcileID: name.context.reconcileID,
      })
    }
  }

  /** The objects that name the import, as far as they exist. */
  #referrersOf({ kind, key }: ReconciledImport): readonly ObjectEvent['regarding'][] {
    const { references, sources } = this.#options
    return references.referrersOf(kind, key).flatMap((referrer) => {
      const synced = syncedKindOf(referrer.kind)
      const object = synced && sources.virtual[synced].getByKey(referrer.key)
      if (!object) return []
      const { name, namespace, uid } = object
      return [{ apiVersion: 'v1', kind: referrer.kind, name, namespace, uid }]
    })
  }
}

/** The error of a write as it may be logged: the API server may quote values of a Secret. */
function loggable<T>(error: T, { kind, key }: ReconciledImport): T | StatusError {
  const isHidden = kind === 'secrets' && error instanceof StatusError
  return isHidden ? withoutDetail(error, `import of Secret ${key}`) : error
}

/** The note of the Event: the API server may quote values of a Secret. */
function noteOf({ name, sent }: ReportedImportWrite, error: StatusError): string {
  const { kind } = SYNCED_RESOURCES[name.kind]
  const because = refusalNote(error, kind === 'Secret', sent)
  return `The virtual cluster refuses the import of ${kind} ${name.key} with ${because}`
}
