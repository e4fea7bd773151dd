// Reports of the configuration: in the log, and in Events on the virtual cluster's own Service (contract 16.1, 16.2).
import { SERVICES } from '../../api/names.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Log } from '../../runtime/log.ts'
import { shortDigest } from '../../sync/rules/host-name.ts'
import type { SyncerSettings } from './flags.ts'

/** Dependencies of the reports. */
interface ConfigReportsOptions {
  readonly settings: Pick<SyncerSettings, 'serviceName' | 'hostNamespace'>
  /** Records Events on the host. */
  readonly events: EventRecorder
  /** The host's. */
  readonly client: KubeClient
  readonly log: Log
}

/** Creates the reports of faults and warnings; without an own Service there is no Event. */
export function configReports({
  settings,
  events,
  client,
  log,
}: ConfigReportsOptions): Readonly<
  Record<'faults' | 'warnings', (sentences: readonly string[]) => void>
> {
  const { serviceName: name, hostNamespace: namespace } = settings
  const report = (reason: string, sentences: readonly string[], text: string): void => {
    if (sentences.length === 0) return
    log.warn({ sentences }, text)
    if (name !== null) void onService(reason, sentences.join('\n'))
  }
  const onService = async (reason: string, note: string): Promise<void> => {
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
    faults: (faults) =>
      report('ConfigInvalid', faults, 'the configuration is invalid, the last valid one stays'),
    warnings: (warnings) => report('PatchesNotServed', warnings, 'the configuration has warnings'),
  }
}
