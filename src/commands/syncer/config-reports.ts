// Reports of the configuration: in the log, and in Events on the virtual cluster's own Service (contract 16.1, 16.2).
import { SERVICES } from '../../api/names.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Log } from '../../runtime/log.ts'
import type { ConfigWarning } from '../../sync/config/config.ts'
import { shortDigest } from '../../sync/objects/host-name.ts'
import type { SyncerSettings } from './flags.ts'

/** Dependencies of the reports. */
interface ConfigReportsOptions {
  readonly settings: Pick<SyncerSettings, 'serviceName' | 'hostNamespace'>
  /** Records Events on the host. */
  readonly events: EventRecorder
  /** A client of the host cluster. */
  readonly client: KubeClient
  readonly log: Log
}

/** Reports the faults and warnings of the configuration file. */
export interface ConfigReports {
  /** Call it when a configuration is in force, with its warnings. */
  readonly inForce: (warnings: readonly ConfigWarning[]) => void
  readonly faults: (faults: readonly string[]) => void
  /** Call it when the configuration in force is back after faults. */
  readonly restored: () => void
  /** Records the Events of the present content, and all later ones. Until then it records none: a standby writes nothing. */
  readonly lead: () => void
}

/** The reasons of the Events. */
type Reason = 'ConfigInvalid' | ConfigWarning['reason']

/** Creates the reports of faults and warnings; without an own Service there is no Event. */
export function configReports({
  settings,
  events,
  client,
  log,
}: ConfigReportsOptions): ConfigReports {
  const { serviceName: name, hostNamespace: namespace } = settings
  /** The note of each Event that the present content has. */
  const current = new Map<Reason, string>()
  let isLeading = false
  const report = (reason: Reason, sentences: readonly string[], text: string): void => {
    if (sentences.length === 0) {
      current.delete(reason)
      return
    }
    log.warn({ sentences }, text)
    const note = sentences.join('\n')
    current.set(reason, note)
    if (isLeading) void recordOnService(reason, note)
  }
  const recordOnService = async (reason: Reason, note: string): Promise<void> => {
    if (name === null) return
    try {
      const service = await client.get(SERVICES, { name, namespace })
      if (service === null) return
      const { uid } = service.metadata
      events.record({
        regarding: { apiVersion: 'v1', kind: SERVICES.kind, name, namespace, uid },
        type: 'Warning',
        reason,
        action: 'ReadConfig',
        note,
        discriminator: shortDigest(note),
      })
    } catch (err) {
      log.warn({ err, reason }, 'an event about the configuration could not be recorded')
    }
  }
  return {
    inForce: (warnings) => {
      current.delete('ConfigInvalid')
      for (const reason of ['PatchesNotServed', 'ReverseNotServed'] as const) {
        const texts = warnings.flatMap((one) => (one.reason === reason ? [one.text] : []))
        report(reason, texts, 'the configuration has warnings')
      }
    },
    faults: (faults) =>
      report('ConfigInvalid', faults, 'the configuration is invalid, the last valid one stays'),
    restored: () => void current.delete('ConfigInvalid'),
    lead: () => {
      isLeading = true
      for (const [reason, note] of current) void recordOnService(reason, note)
    },
  }
}
