// The process of the syncer: configuration -> clients -> leader election -> run of endpoint sync -> ordered shutdown.
// It only puts the parts together.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { NoResponseError, NotLeaderError, StatusError } from '../../kube/client/api-error.ts'
import { anyOutage } from '../../kube/client/circuit-breaker.ts'
import { createClient, readKinds } from '../../kube/client/client.ts'
import { createNamespaceContent } from '../../kube/client/namespace-content.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { Connection } from '../../kube/client/connection.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import type { Log } from '../../runtime/log.ts'
import type { SyncConfig } from '../../sync/config/config.ts'
import { noReportedFailures } from '../../sync/pair/report.ts'
import type { RunOptions } from '../../sync/run.ts'
import { createSandbox } from '../../sync/sandbox/sandbox.ts'
import {
  type ServedKinds,
  createServedKinds,
  unservedReferences,
} from '../../sync/references/served-kinds.ts'
import { clientDeps, connectCluster, startEventRecorder } from '../shared/cluster-client.ts'
import { joinElection } from '../shared/leadership.ts'
import { commonChecks, serveProbes } from '../shared/probes.ts'
import { type CommandProcess, runProcess } from '../shared/process.ts'
import { configReports } from './config-reports.ts'
import { followConfigFile, readConfigFile } from './config-file.ts'
import type { SyncerSettings } from './flags.ts'
import { checkNamespaces } from './namespaces-at-start.ts'
import { type SyncerMetrics, createSyncerMetrics, leaseName } from './metrics.ts'
import { type Runs, createRuns } from './runs.ts'

/** Runs until the process is stopped. @returns the exit code, after all parts have stopped */
export const startSyncer = (settings: SyncerSettings): Promise<number> =>
  runProcess({ kind: 'run', settings }, { createMetrics: createSyncerMetrics, start })

type SyncerProcess = CommandProcess<SyncerSettings, SyncerMetrics>

const STOP_WITHIN_MS = { run: 20_000, other: 2000 }

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: SyncerProcess): Promise<void> {
  const { settings, clock, log, lifecycle, metrics } = self
  const identity = `${hostname()}_${randomUUID()}`
  const { virtualCluster, hostNamespace, serviceName } = settings
  log.info({ version: PROGRAM_VERSION, identity, virtualCluster, hostNamespace }, 'starting')
  const { text, checked } = readConfigFile(settings.config)
  metrics.configIsValid(true)
  const { namespaces } = checked.config
  if (serviceName === null || namespaces !== null)
    log.warn(
      {},
      'host objects have no owner without --service-name and in multi-namespace mode: nothing cleans up when the virtual cluster ends',
    )
  const connections = {
    virtual: await connectedTo(settings.virtualKubeconfig, 'virtual', self),
    host: await connectedTo(settings.hostKubeconfig, 'host', self),
  }
  // Nothing is written before the configuration is checked and this process leads.
  let mayWrite = (): void => {
    throw new NotLeaderError()
  }
  const depsOf = (connection: Connection): ClientDeps =>
    clientDeps(self, connection, () => mayWrite())
  const served = servedKinds(connections.virtual, self)
  const [ofVirtual, ofHost] = [depsOf(connections.virtual), depsOf(connections.host)]
  const clients = { virtual: createClient(ofVirtual), host: createClient(ofHost) }
  const events = {
    virtual: startEventRecorder(self, clients.virtual, identity),
    host: startEventRecorder(self, clients.host, identity),
  }
  const sandbox = createSandbox(clock)
  lifecycle.onStop('sandbox', STOP_WITHIN_MS.other, () => sandbox.close())
  const options: RunOptions = {
    ...settings,
    clients,
    served,
    hostContent: createNamespaceContent(ofHost),
    evaluate: metrics.timed(sandbox.evaluate),
    events: events.virtual,
    reported: noReportedFailures(),
    observer: metrics.observer,
    namespaceFailed: metrics.namespaceFailed,
    outage: anyOutage([connections.virtual.breaker, connections.host.breaker]),
    eventLoop: new EventLoopShare(clock),
    metrics,
    restarted: metrics.watchRestarted,
    clock,
    log,
  }
  const runs = createRuns(checked.config, options)
  metrics.follow((kind) => runs.current().countByState(kind))
  lifecycle.onStop('sync', STOP_WITHIN_MS.run, () => runs.stop())
  let isChecked = false
  await serveSyncer(self, runs, () => isChecked)
  const place = { virtualCluster, hostNamespace, namespaces }
  await checkNamespaces({ ...self, place, clients, stopping: lifecycle.stopping })
  const faults = await kindFaults(checked.config, served, log)
  if (faults.length > 0) throw new Error(`${settings.config} has faults:\n${faults.join('\n')}`)
  isChecked = true
  const leadership = await joinElection(self, {
    kubeconfig: settings.hostKubeconfig,
    leaderElection: settings.leaderElection,
    lease: { namespace: hostNamespace, name: leaseName(virtualCluster) },
    identity,
  })
  mayWrite = leadership.mayWrite
  const reportConfig = configReports({ ...self, events: events.host, client: clients.host })
  reportConfig.inForce(checked.warnings)
  followConfigFile(text, {
    path: settings.config,
    clock,
    signal: lifecycle.stopping,
    faultsOf: (config) => kindFaults(config, served, log),
    onConfig: async (config, warnings) => {
      log.info({}, 'the configuration has changed')
      metrics.configIsValid(true)
      reportConfig.inForce(warnings)
      await runs.restart(config)
    },
    onFaults: (sentences) => {
      metrics.configIsValid(false)
      reportConfig.faults(sentences)
    },
    onRestored: () => {
      metrics.configIsValid(true)
      reportConfig.restored()
    },
  }).catch((err: unknown) => {
    log.error({ err }, 'could not start with the configuration that has changed')
    lifecycle.stop('start failed', 1)
  })
  await leadership.acquired
  reportConfig.lead()
  runs.lead()
}

/** The kinds that the virtual cluster serves; a process that does not lead may ask too. */
function servedKinds(virtual: Connection, self: SyncerProcess): ServedKinds {
  const deps = clientDeps(self, virtual, () => undefined)
  return createServedKinds((group, version) => readKinds(deps, group, version), self.clock)
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

async function connectedTo(
  kubeconfig: string | null,
  cluster: string,
  { clock, log, lifecycle }: SyncerProcess,
): Promise<Connection> {
  const connection = await connectCluster(kubeconfig, clock)
  lifecycle.onStop(`${cluster} connection`, STOP_WITHIN_MS.other, () => connection.close())
  connection.breaker.report(log.child({ cluster }))
  return connection
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
