// Events about namespaces of the virtual cluster in multi-namespace mode (contract 17.5).
import { NAMESPACES } from '../../api/names.ts'
import type { StatusError } from '../../kube/client/api-error.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import { shortDigest } from '../objects/host-name.ts'
import { refusalNote } from '../writes/refusal-note.ts'
import { reportRefusal } from '../writes/report-refusal.ts'
import type { VirtualNamespace } from './marks.ts'

/** The reasons of Events about namespaces, and of platform_sync_errors_total for their kind. */
export const NAMESPACE_ERROR_REASONS = ['NamespaceTaken', 'NamespaceKept', 'NotWritten'] as const

/** One of NAMESPACE_ERROR_REASONS. */
export type NamespaceErrorReason = (typeof NAMESPACE_ERROR_REASONS)[number]

/** A host namespace in one reconcile, which the lines and Events about it name. */
export interface ReconciledNamespace {
  readonly hostName: string
  readonly context: ReconcileContext
}

/** Reports what becomes of virtual namespaces on the host. */
export interface NamespaceReport {
  /** The host namespace of this virtual one belongs to another virtual namespace, or is foreign. */
  readonly taken: (host: ReconciledNamespace, namespace: VirtualNamespace) => void
  /** The host namespace stays, though its virtual one is gone. @param note a sentence */
  readonly kept: (host: ReconciledNamespace, namespace: VirtualNamespace, note: string) => void
  /**
   * Reports what the host refuses (see isRefusal), once until `inStep`.
   *
   * @throws ReportedFailure for a refusal, else what `act` does
   */
  readonly refusalReported: <T>(
    host: ReconciledNamespace,
    namespace: VirtualNamespace,
    act: () => Promise<T>,
  ) => Promise<T>
  /** The reconcile met no refusal: an earlier one has ended. */
  readonly inStep: (host: ReconciledNamespace) => void
}

/** Dependencies of the reports. */
interface NamespaceReportOptions {
  /** Records Events in the virtual cluster. */
  readonly events: EventRecorder
  readonly failed: (reason: NamespaceErrorReason) => void
}

/** The text of a report. */
interface NamespaceNote {
  readonly reason: NamespaceErrorReason
  /** The note of the Event. */
  readonly note: string
  /** The note of the log line; absent = the same. */
  readonly logged?: string
}

/** Creates the reports. */
export function namespaceReport({ events, failed }: NamespaceReportOptions): NamespaceReport {
  /** Digests of the reported refusals, by host namespace: a retry does not report the same refusal again. */
  const refused = new Map<string, string>()
  const report = (
    { context: { log, reconcileID } }: ReconciledNamespace,
    { name, uid }: VirtualNamespace,
    { reason, note, logged = note }: NamespaceNote,
  ): void => {
    failed(reason)
    log.warn({ namespace: name, reason, note: logged }, 'a namespace is not in step')
    events.record({
      regarding: { apiVersion: NAMESPACES.version, kind: NAMESPACES.kind, name, uid },
      type: 'Warning',
      reason,
      action: 'Sync',
      note,
      discriminator: shortDigest(note),
      reconcileID,
    })
  }
  const refuse = (
    host: ReconciledNamespace,
    namespace: VirtualNamespace,
    error: StatusError,
  ): void => {
    const noteOf = (because: string): string => `The host refuses a write for it: ${because}.`
    const note = noteOf(refusalNote(error, false, null))
    // Numbers in an answer, such as sizes, can differ each time: it is the same refusal.
    const refusal = `${namespace.uid} ${shortDigest(note.replaceAll(/\d+/g, ''))}`
    const { hostName } = host
    if (refused.get(hostName) === refusal) failed('NotWritten')
    else report(host, namespace, { reason: 'NotWritten', note, logged: noteOf(error.message) })
    refused.set(hostName, refusal)
  }
  return {
    taken: (host, namespace) => {
      const note = `Namespace ${host.hostName} of the host does not belong to this namespace; nothing of this namespace is written.`
      report(host, namespace, { reason: 'NamespaceTaken', note })
    },
    kept: (host, namespace, note) => report(host, namespace, { reason: 'NamespaceKept', note }),
    refusalReported: (host, namespace, act) =>
      reportRefusal(act, {
        isKnown: true,
        loggable: (error) => error,
        report: (error) => refuse(host, namespace, error),
      }),
    inStep: ({ hostName, context }) => {
      if (refused.delete(hostName))
        context.log.info({ hostNamespace: hostName }, 'the host refuses a namespace no more')
    },
  }
}
