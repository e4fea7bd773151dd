// Events about namespaces of the virtual cluster in multi-namespace mode (contract 17.5).
import { NAMESPACES } from '../api/names.ts'
import { isRefusal } from '../kube/client/api-error.ts'
import type { EventRecorder } from '../kube/event-recorder.ts'
import type { Log } from '../runtime/log.ts'
import { shortDigest } from './rules/host-name.ts'
import type { VirtualNamespace } from './rules/namespace-marks.ts'

/** The reasons of Events about namespaces, and of platform_sync_errors_total for their kind. */
export const NAMESPACE_ERROR_REASONS = ['NamespaceTaken', 'NamespaceKept', 'NotWritten'] as const

/** One of NAMESPACE_ERROR_REASONS. */
export type NamespaceErrorReason = (typeof NAMESPACE_ERROR_REASONS)[number]

/** Reports what becomes of virtual namespaces on the host. */
export interface NamespaceReport {
  /** Its host namespace belongs to another one, or to somebody else. */
  readonly taken: (namespace: VirtualNamespace, hostName: string) => void
  /** Its host namespace stays after its end. @param note a sentence */
  readonly kept: (namespace: VirtualNamespace, note: string) => void
  /** Reports what the host refuses (see isRefusal). @throws what `act` does */
  readonly refusalReported: <T>(namespace: VirtualNamespace, act: () => Promise<T>) => Promise<T>
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
  const report = (
    reason: NamespaceErrorReason,
    { name, uid }: VirtualNamespace,
    note: string,
  ): void => {
    failed(reason)
    log.warn({ namespace: name, reason, note }, 'a namespace is not in step')
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
    refusalReported: async (namespace, act) => {
      try {
        return await act()
      } catch (error) {
        if (isRefusal(error, true)) {
          const { code, reason, message } = error
          const note = `The host refuses the namespace with ${code} ${reason}: ${message}`
          report('NotWritten', namespace, note)
        }
        throw error
      }
    },
  }
}
