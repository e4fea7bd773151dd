// The manager: settings -> client -> stores -> servers -> leader election -> controllers -> ordered shutdown. It only
// puts the parts together.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CONTROLLER_NAME } from '../../api/names.ts'
import { createRevocationList } from '../../revocation/revocation-list.ts'
import { IssuesInProgress } from '../../controllers/indexes/tokens.ts'
import { createClient } from '../../kube/client/client.ts'
import { peopleIn } from '../../people/people-index.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import { createKeyring } from '../../signing/keyring.ts'
import { clientDeps, startConnection, startEventRecorder } from '../shared/cluster-client.ts'
import { joinElection } from '../shared/leadership.ts'
import { type CommandProcess, processInputs, runProcess } from '../shared/process.ts'
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
export const run = (argv: readonly string[]): Promise<number> =>
  runProcess(readManagerSettings(argv, processInputs), {
    createMetrics: createManagerMetrics,
    start,
  })

const CONTROLLERS_STOP_WITHIN_MS = 20_000

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: CommandProcess<ManagerSettings, ManagerMetrics>): Promise<void> {
  const { settings, clock, log, lifecycle, metrics } = self
  const { namespace, kubeconfig, leaderElection } = settings
  const identity = `${hostname()}_${randomUUID()}`
  log.info({ version: PROGRAM_VERSION, identity }, 'starting')
  const connection = await startConnection(self, kubeconfig)
  const lease = { namespace, name: CONTROLLER_NAME }
  const leadership = await joinElection(self, { kubeconfig, leaderElection, lease, identity })
  const deps = clientDeps(self, connection, leadership.mayWrite)
  const client = createClient(deps)
  const stores = createStores()
  const people = peopleIn(stores)
  const { signingSecrets, configMaps } = stores
  const following = startManagerInformers(self, deps, stores)
  const { caps, issuer } = following
  const keyring = createKeyring({
    secrets: signingSecrets,
    records: configMaps,
    namespace,
    clock,
    log,
  })
  await serveManager(self, { stores, following, keyring })
  await leadership.acquired
  const observer = { revoked: metrics.tokensRevoked }
  const revocations = createRevocationList({ client, configMaps, namespace, clock, log, observer })
  const eventLoop = new EventLoopShare(clock)
  metrics.follow(countObjects({ stores, people, caps, clock, eventLoop, keyring, revocations }))
  const stop = startControllers({
    settings,
    client,
    stores,
    people,
    caps,
    issuer,
    keyring,
    revocations,
    issues: new IssuesInProgress(),
    events: startEventRecorder(self, client, identity),
    eventLoop,
    outage: connection.breaker,
    metrics,
    clock,
    log,
  })
  lifecycle.onStop('controllers', CONTROLLERS_STOP_WITHIN_MS, stop)
}
