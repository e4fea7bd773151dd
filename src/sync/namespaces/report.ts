// Events about namespaces of the virtual cluster in multi-namespace mode (contract 17.5).
import { NAMESPACES } from '../../api/names.ts'
import { isRefusal } from '../../kube/client/api-error.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Log } from '../../runtime/log.ts'
import { shortDigest } from '../objects/host-name.ts'
import { refusalNote } from '../writes/refusal-note.ts'
import type { VirtualNamespace } from './marks.ts'

/** The reasons of Events about namespaces, and of platform_sync_errors_total for their kind. */
export const NAMESPACE_ERROR_REASONS = ['NamespaceTaken', 'NamespaceKept', 'NotWritten'] as const

/** One of NAMESPACE_ERROR_REASONS. */
export type NamespaceErrorReason = (typeof NAMESPACE_ERROR_REASONS)[number]

/** Reports what becomes of virtual namespaces on the host. */
export interface NamespaceReport {
  /** Its host namespace belongs to another virtual namespace, or is foreign. */
  readonly taken: (namespace: VirtualNamespace, hostName: string) => void
  /** Its host namespace stays after its end. @param note a sentence */
  readonly kept: (namespace: VirtualNamespace, note: string) => void
  /**
   * Reports what the host refuses (see isRefusal), once until `inStep`.
   *
   * @throws ReportedFailure for a refusal, else what `act` does
   */
  readonly refusalReported: <T>(
    namespace: VirtualNamespace,
    hostName: string,
    act: () => Promise<T>,
  ) => Promise<T>
  /** Nothing that the host refuses is to be written for this host namespace: a refusal before has ended. */
  readonly inStep: (hostName: string) => void
}

/** Dependencies of the reports. */
interface NamespaceReportOptions {
  /** Records Events in the virtual cluster. */
  readonly events: EventRecorder
  readonly failed: (reason: NamespaceErrorReason) => void
  readonly log: Log
}

/** Creates the reports. */
export function namespaceReport({ events, failed, log }: NamespaceReportOptions): NamespaceReport {
  /** Digests of the refusals that were reported, by host namespace: a retry has nothing new to say. */
  const refused = new Map<string, string>()
  const report = (
    reason: NamespaceErrorReason,
    { name, uid }: VirtualNamespace,
    note: string,
    logged = note,
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
    })
  }
  return {
    taken: (namespace, hostName) =>
      report(
        'NamespaceTaken',
        namespace,
        `Namespace ${hostName} of the host is not this one's; nothing of this namespace is written.`,
      ),
    kept: (namespace, note) => report('NamespaceKept', namespace, note),
    refusalReported: async (namespace, hostName, act) => {
      try {
        return await act()
      } catch (error) {
        if (!isRefusal(error, true)) throw error
        const { message, retryAfterMs } = error
        const noteOf = (because: string): string => `The host refuses a write for it: ${because}.`
        const note = noteOf(refusalNote(error, false, null))
        // Numbers in an answer can be others each time: it is the same refusal.
        const refusal = `${namespace.uid} ${shortDigest(note.replaceAll(/\d+/g, ''))}`
        if (refused.get(hostName) === refusal) failed('NotWritten')
        else report('NotWritten', namespace, note, noteOf(message))
        refused.set(hostName, refusal)
        throw new ReportedFailure(message, { retryAfterMs, cause: error })
      }
    },
    inStep: (hostName) => {
      if (!refused.delete(hostName)) return
      log.info({ hostNamespace: hostName }, 'the host refuses a namespace no more')
    },
  }
}
