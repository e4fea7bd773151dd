// The process of the syncer: configuration -> clients -> leader election -> run of endpoint sync -> ordered shutdown.
// It only puts the parts together.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { NoResponseError, StatusError } from '../../kube/client/api-error.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import type { Log } from '../../runtime/log.ts'
import type { SyncConfig } from '../../sync/config/config.ts'
import { noReportedFailures } from '../../sync/pair/report.ts'
import { type ServedKinds, unservedReferences } from '../../sync/references/served-kinds.ts'
import { createSandbox } from '../../sync/sandbox/sandbox.ts'
import { joinElection } from '../shared/leadership.ts'
import { commonChecks, serveProbes } from '../shared/probes.ts'
import { runProcess } from '../shared/process.ts'
import { connectClusters, type SyncerClusters, type SyncerProcess } from './clusters.ts'
import { followConfigFile, readConfigFile } from './config-file.ts'
import { type ConfigReports, configReports } from './config-reports.ts'
import type { SyncerSettings } from './flags.ts'
import { createSyncerMetrics, leaseName } from './metrics.ts'
import { checkNamespaces } from './namespaces-at-start.ts'
import { createRuns, type Runs } from './runs.ts'

/** Runs until the process is stopped. @returns the exit code, after all parts have stopped */
export const startSyncer = (settings: SyncerSettings): Promise<number> =>
  runProcess({ kind: 'run', settings }, { createMetrics: createSyncerMetrics, start })

const STOP_WITHIN_MS = { run: 20_000, sandbox: 2000 }

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: SyncerProcess): Promise<void> {
  const { settings, log, metrics } = self
  const identity = `${hostname()}_${randomUUID()}`
  const { virtualCluster, hostNamespace } = settings
  log.info({ version: PROGRAM_VERSION, identity, virtualCluster, hostNamespace }, 'starting')
  const { text, checked } = readConfigFile(settings.config)
  const { config, warnings } = checked
  metrics.configIsValid(true)
  warnWithoutOwner(config, self)
  const clusters = await connectClusters(self, identity)
  const runs = startRuns(config, clusters, self)
  let isChecked = false
  await serveSyncer(self, runs, () => isChecked)
  await checkAgainstClusters(config, clusters, self)
  isChecked = true
  const leadership = await joinElection(self, {
    kubeconfig: settings.hostKubeconfig,
    leaderElection: settings.leaderElection,
    lease: { namespace: hostNamespace, name: leaseName(virtualCluster) },
    identity,
  })
  clusters.setMayWrite(leadership.mayWrite)
  const [events, client] = [clusters.events.host, clusters.clients.host]
  const reports = configReports({ settings, events, client, log })
  reports.inForce(warnings)
  followConfig({ text, runs, reports, served: clusters.served }, self)
  await leadership.acquired
  reports.lead()
  runs.lead()
}

function warnWithoutOwner({ namespaces }: SyncConfig, { settings, log }: SyncerProcess): void {
  if (settings.serviceName !== null && namespaces === null) return
  log.warn(
    {},
    'host objects have no owner without --service-name and in multi-namespace mode: nothing cleans up when the virtual cluster ends',
  )
}

/** Starts the sandbox and the first run, which only reads until it leads. */
function startRuns(config: SyncConfig, clusters: SyncerClusters, self: SyncerProcess): Runs {
  const { settings, clock, log, lifecycle, metrics } = self
  const sandbox = createSandbox(clock)
  lifecycle.onStop('sandbox', STOP_WITHIN_MS.sandbox, () => sandbox.close())
  const runs = createRuns(config, {
    virtualCluster: settings.virtualCluster,
    hostNamespace: settings.hostNamespace,
    serviceName: settings.serviceName,
    addresses: settings.addresses,
    workers: settings.workers,
    clients: clusters.clients,
    served: clusters.served,
    hostContent: clusters.hostContent,
    evaluate: metrics.timed(sandbox.evaluate),
    events: clusters.events.virtual,
    reported: noReportedFailures(),
    observer: metrics.observer,
    namespaceFailed: metrics.namespaceFailed,
    outage: clusters.outage,
    eventLoop: new EventLoopShare(clock),
    metrics,
    restarted: metrics.watchRestarted,
    clock,
    log,
  })
  metrics.follow((kind) => runs.current().countByState(kind))
  lifecycle.onStop('sync', STOP_WITHIN_MS.run, () => runs.stop())
  return runs
}

/** @throws Error with the faults of the configuration that only the clusters show, a line each */
async function checkAgainstClusters(
  config: SyncConfig,
  { clients, served }: SyncerClusters,
  { settings, clock, log, lifecycle }: SyncerProcess,
): Promise<void> {
  const { virtualCluster, hostNamespace } = settings
  const place = { virtualCluster, hostNamespace, namespaces: config.namespaces }
  await checkNamespaces({ place, clients, clock, log, stopping: lifecycle.stopping })
  const faults = await kindFaults(config, served, log)
  if (faults.length > 0) throw new Error(`${settings.config} has faults:\n${faults.join('\n')}`)
}

/** The parts that follow a change of the configuration file. */
interface ConfigFollowers {
  /** The content in force. */
  readonly text: string
  readonly runs: Runs
  readonly reports: ConfigReports
  readonly served: ServedKinds
}

/** Follows the configuration file until the process stops; a run that can't start ends the process. */
function followConfig(
  { text, runs, reports, served }: ConfigFollowers,
  { settings, clock, log, lifecycle, metrics }: SyncerProcess,
): void {
  followConfigFile(text, {
    path: settings.config,
    clock,
    signal: lifecycle.stopping,
    faultsOf: (config) => kindFaults(config, served, log),
    onConfig: async (config, warnings) => {
      log.info({}, 'the configuration has changed')
      metrics.configIsValid(true)
      reports.inForce(warnings)
      await runs.restart(config)
    },
    onFaults: (sentences) => {
      metrics.configIsValid(false)
      reports.faults(sentences)
    },
    onRestored: () => {
      metrics.configIsValid(true)
      reports.restored()
    },
  }).catch((err: unknown) => {
    log.error({ err }, 'could not start with the configuration that has changed')
    lifecycle.stop('start failed', 1)
  })
}

/**
 * A fault for each reference to a kind that the virtual cluster does not serve (contract 19.5). Without an answer there
 * is none: each object is checked again when it is translated.
 */
async function kindFaults(
  config: SyncConfig,
  served: ServedKinds,
  log: Log,
): Promise<readonly string[]> {
  try {
    return await unservedReferences(config, served)
  } catch (err) {
    if (!(err instanceof NoResponseError || err instanceof StatusError)) throw err
    log.warn({ err }, 'no answer: the kinds of references are checked when objects are translated')
    return []
  }
}

/** Serves /metrics, /healthz and /readyz at the addresses of the flags (contract 8.2). */
function serveSyncer(self: SyncerProcess, runs: Runs, isChecked: () => boolean): Promise<void> {
  const { lifecycle } = self
  const current = () =>
    commonChecks(lifecycle.stopping, runs.current(), runs.current().stores) as Readonly<
      Record<string, () => string | null>
    >
  const names = Object.keys(current())
  const readiness = Object.fromEntries(
    names.map((name) => [name, () => current()[name]?.() ?? null] as const),
  )
  const checked = (): string | null =>
    isChecked() ? null : 'the configuration is not checked against both clusters yet'
  return serveProbes(self, { ...readiness, 'configuration-checked': checked })
}
