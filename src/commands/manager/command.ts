// The manager: settings -> client -> stores -> servers -> leader election -> controllers -> ordered shutdown. It only
// puts the parts together.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CONTROLLER_NAME } from '../../api/names.ts'
import { createRevocationList } from '../../revocation/revocation-list.ts'
import { IssuesInProgress } from '../../controllers/indexes/tokens.ts'
import { createClient } from '../../kube/client/client.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { PROGRAM_VERSION, printText } from '../../runtime/flags.ts'
import { type Lifecycle, startLifecycle } from '../../runtime/lifecycle.ts'
import { type Log, createLogger } from '../../runtime/log.ts'
import { createKeyring } from '../../signing/keyring.ts'
import { clientDeps, connectCluster, processInputs, startEventRecorder } from '../shared/process.ts'
import { joinElection } from '../shared/leadership.ts'
import { startControllers } from './controllers.ts'
import { type ManagerSettings, readManagerSettings } from './flags.ts'
import { createStores, startManagerInformers } from './informers.ts'
import { type ManagerMetrics, countObjects, createManagerMetrics } from './metrics.ts'
import { serveManager } from './probes.ts'

/**
 * `management-operator manager` (contract 8.1).
 *
 * @returns the exit code, after all parts have stopped
 */
export async function run(argv: readonly string[]): Promise<number> {
  const invocation = readManagerSettings(argv, processInputs)
  if (invocation.kind !== 'run') return printText(invocation)
  const { settings } = invocation
  const clock = systemClock()
  const log = createLogger(settings.logLevel)
  const lifecycle = startLifecycle(process, clock, log)
  const metrics = createManagerMetrics(settings)
  // Not awaited: a standby replica does not finish its start until it leads, and a signal may arrive before.
  start({ settings, clock, log, lifecycle, metrics }).catch((err: unknown) => {
    log.error({ err }, 'could not start')
    lifecycle.stop('start failed', 1)
  })
  return lifecycle.finished
}

interface Process {
  readonly settings: ManagerSettings
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: ManagerMetrics
}

const STOP_WITHIN_MS = { controllers: 20_000, other: 2000 }

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: Process): Promise<void> {
  const { settings, clock, log, lifecycle } = self
  const identity = `${hostname()}_${randomUUID()}`
  log.info({ version: PROGRAM_VERSION, identity }, 'starting')
  const connection = await connectCluster(settings.kubeconfig, clock)
  lifecycle.onStop('connection', STOP_WITHIN_MS.other, () => connection.close())
  const outage = connection.breaker
  outage.report(log)
  const leadership = await joinElection({
    ...self,
    ...settings,
    lease: { namespace: settings.namespace, name: CONTROLLER_NAME },
    identity,
  })
  const client = createClient(clientDeps(self, connection, leadership.mayWrite))
  const stores = createStores()
  const following = startManagerInformers(stores, { ...self, client, signal: lifecycle.stopping })
  const keyring = createKeyring({
    ...self,
    secrets: stores.signingSecrets,
    records: stores.configMaps,
    namespace: settings.namespace,
  })
  await serveManager({ ...self, stores, following, keyring })
  await leadership.acquired
  const events = startEventRecorder({ ...self, client, instance: identity })
  const revocations = createRevocationList({
    ...self,
    client,
    configMaps: stores.configMaps,
    namespace: settings.namespace,
    observer: { revoked: self.metrics.tokensRevoked },
  })
  const turns = new EventLoopShare(clock)
  const issues = new IssuesInProgress()
  const shared = { issues, client, stores, events, keyring, revocations, turns, outage }
  const options = { ...self, ...following, ...shared }
  self.metrics.follow(countObjects(options))
  const stop = startControllers(options)
  lifecycle.onStop('controllers', STOP_WITHIN_MS.controllers, stop)
}
