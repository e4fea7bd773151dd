// The audit log of the direct endpoint: by the settings of the platform, to which its events go (contract 23.1).
import type { AuditSettings } from '../../api/config.gen.ts'
import { AgentAudit, type AgentAuditOptions } from '../../audit/agent/agent-audit.ts'
import { agentSettingsOf } from '../../audit/agent/agent-settings.ts'
import { type AuditDeps, NO_AUDIT } from '../../gateway/stages/audit.ts'
import { startAudit } from '../shared/audit.ts'
import { processInputs } from '../shared/process.ts'
import type { CentralSettings } from './audit-flags.ts'
import type { DirectProcess } from './metrics.ts'

const SENDER_STOPS_WITHIN_MS = 5000

/** Starts the audit log that the flags ask for. @throws Error when the file with the platform's CA can't be read */
export async function startDirectAudit(self: DirectProcess): Promise<AuditDeps> {
  const { path, central } = self.settings.audit
  if (path === null) return NO_AUDIT
  if (central === null) {
    const audit = startAudit(self, null)
    audit.apply(agentSettingsOf(null, path).audit)
    return audit
  }
  const agent = createAgent(self, path, central)
  self.metrics.followSpool(() => agent.spool.unsentBytes)
  // Registered before the log, and so ended after it: the last lines are sent as well.
  self.lifecycle.onStop('audit sender', SENDER_STOPS_WITHIN_MS, () =>
    agent.end(AbortSignal.timeout(SENDER_STOPS_WITHIN_MS)),
  )
  const audit = startAudit(self, agent.spool)
  await agent.start((settings: AuditSettings) => audit.apply(settings))
  return audit
}

function createAgent(
  self: DirectProcess,
  path: string,
  { url, caFile, accessKeyFile }: CentralSettings,
): AgentAudit {
  const { cluster, stateDir, audit } = self.settings
  const ca = processInputs.file(caFile)
  if (ca === null) throw new Error(`the file of --central-ca-file cannot be read: ${caFile}`)
  return new AgentAudit({
    central: { url, ca, accessKeyFile, cluster },
    directory: { path, subdirectory: audit.subdirectory },
    stateDir,
    spool: { limitBytes: audit.spoolBytes, whenFull: audit.spoolFull },
    clock: self.clock,
    observer: observerOf(self),
  })
}

/** Each line once, until it has healed. */
function observerOf({ log, metrics }: DirectProcess): AgentAuditOptions['observer'] {
  return {
    settingsFailed: (err) =>
      log.warn(
        { err },
        'the audit settings of the platform cannot be read: the last ones stay in force',
      ),
    settingsHealed: () => log.info({}, 'the audit settings of the platform can be read again'),
    sendingFailed: (err) =>
      log.warn({ err }, 'audit events cannot be sent to the platform: they wait in the files'),
    sendingHealed: () => log.info({}, 'audit events can be sent to the platform again'),
    positionFailed: (err) =>
      log.warn(
        { err },
        'it cannot be kept which audit events were sent: a restart sends some again',
      ),
    eventsRefused: (count) => {
      metrics.auditLost(count)
      log.error(
        { events: count },
        'the platform refuses audit events: they stay in the files here alone',
      )
    },
    eventsLost: (count) => {
      metrics.auditLost(count)
      log.error({ events: count }, 'audit events were removed before they were sent')
    },
    eventsUnwanted: () =>
      log.warn(
        {},
        'the platform takes no audit events, as its audit log is off: they stay in the files here',
      ),
  }
}
