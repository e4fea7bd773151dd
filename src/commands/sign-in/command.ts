// The sign-in process: settings -> client -> stores -> certificate -> server -> leader election -> ordered shutdown. It only puts
// the parts together. Every replica signs people in; one looks after sessions and reports providers.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CONTROLLER_NAME, SIGN_IN_CA_CONFIG_MAP } from '../../api/names.ts'
import { type KubeClient, createClient } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import { throttledWarnings } from '../../runtime/log-throttle.ts'
import { createHttpServer } from '../../serving/http/server.ts'
import { hostsOf } from '../../serving/tls/secret.ts'
import { reportProviders } from '../../signin/provider-report.ts'
import { sweepGrants } from '../../signin/apps/sweep.ts'
import { refreshSessions } from '../../signin/refresh/refresh-loop.ts'
import { sweepSessions } from '../../signin/sessions/sweep.ts'
import { authorityPublisher } from '../shared/authority.ts'
import { startCertificate } from '../shared/certificate.ts'
import { clientDeps, startConnection } from '../shared/cluster-client.ts'
import { joinElection } from '../shared/leadership.ts'
import { commonChecks, serveProbes } from '../shared/probes.ts'
import { processInputs, runProcess } from '../shared/process.ts'
import { connectionObserver } from '../shared/traffic-observers.ts'
import { readSignInSettings } from './flags.ts'
import { SIGN_IN_LEASE, type SignInProcess, createSignInMetrics } from './metrics.ts'
import { type SignInApi, startSignInApi } from './wiring.ts'

/**
 * `management-operator sign-in` (contract 25.1).
 *
 * @returns the exit code, after all parts have stopped
 */
export const run = (argv: readonly string[]): Promise<number> =>
  runProcess(readSignInSettings(argv, processInputs), { createMetrics: createSignInMetrics, start })

const SERVER_STOPS_WITHIN_MS = 20_000
/** Name of its Service, as in config/sign-in, and of its field manager. */
const SERVICE = 'sign-in'

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: SignInProcess): Promise<void> {
  const { settings, log } = self
  const identity = `${hostname()}_${randomUUID()}`
  log.info({ version: PROGRAM_VERSION, identity }, 'starting')
  const connection = await startConnection(self, settings.kubeconfig)
  const name = `${CONTROLLER_NAME}-${SERVICE}`
  const deps: ClientDeps = {
    ...clientDeps(self, connection, () => undefined),
    userAgent: `${name}/${PROGRAM_VERSION}`,
    fieldManager: name,
  }
  const client = createClient(deps)
  const api = startSignInApi(self, client)
  await serve(self, client, deps, api)
  const leadership = await joinElection(self, {
    kubeconfig: settings.kubeconfig,
    leaderElection: settings.leaderElection,
    lease: { namespace: settings.namespace, name: SIGN_IN_LEASE },
    identity,
  })
  await leadership.acquired
  lead(self, client, api, leadership.mayWrite)
}

/** Serves the gateway, and probes. */
async function serve(
  self: SignInProcess,
  client: KubeClient,
  deps: ClientDeps,
  api: SignInApi,
): Promise<void> {
  const { settings, log, lifecycle } = self
  const { namespace } = settings
  const server = createHttpServer(connectionObserver(self))
  const publishAuthority = authorityPublisher(self, client, deps, {
    namespace,
    name: SIGN_IN_CA_CONFIG_MAP,
  })
  const certificate = startCertificate(self, {
    client,
    deps,
    hosts: () => hostsOf([], SERVICE, namespace),
    subscribeHosts: (listener) => listener(),
    manager: `${SERVICE}-${randomUUID()}`,
    show: (pair) => {
      server.show(pair)
      if (settings.certificateFiles === null) publishAuthority()
    },
  })
  await serveProbes(self, {
    ...commonChecks(lifecycle.stopping, api, { ...api.stores }),
    ...api.readiness,
    certificate: certificate.fault,
  })
  await certificate.first
  const port = await server.listen(settings.bindAddress, api.handler)
  lifecycle.onStop('sign-in server', SERVER_STOPS_WITHIN_MS, () => server.close())
  log.info({ port }, 'serving signing in')
}

/** How long refreshes that are under way may take when the process stops: their tokens would be lost. */
const REFRESHES_STOP_WITHIN_MS = 12_000

/** Starts the work of the replica that leads. */
function lead(
  { settings, clock, log, lifecycle, metrics }: SignInProcess,
  client: KubeClient,
  api: SignInApi,
  mayLead: () => void,
): void {
  const { namespace } = settings
  const signal = lifecycle.stopping
  const { users, stores, passwords, settings: followed, clients } = api
  const shared = {
    client,
    namespace,
    secrets: stores.secrets,
    settings: followed,
    clock,
    log,
    warn: throttledWarnings(clock, log),
    signal,
  }
  void reportProviders({ ...shared, clients })
  void sweepGrants(shared)
  void sweepSessions({ ...shared, users, passwords, graceMs: settings.removedProviderGraceMs })
  const refreshes = refreshSessions({
    ...shared,
    people: api.people,
    intervalMs: settings.refreshIntervalMs,
    observer: metrics.refreshes,
    mayLead,
  })
  lifecycle.onStop('refreshes of sessions', REFRESHES_STOP_WITHIN_MS, () => refreshes.drain())
}
