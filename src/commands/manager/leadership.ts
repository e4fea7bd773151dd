// The manager's leader election and readiness. A leader that loses the Lease exits.
import { CONTROLLER_NAME } from '../../api/names.ts'
import { createClient } from '../../kube/client/client.ts'
import { runLeaderElection } from '../../kube/leader-election/elector.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import type { Keyring } from '../../signing/keyring.ts'
import {
  type ClientParts,
  clientDeps,
  commonChecks,
  connectCluster,
  serveProbes,
} from '../cluster-command.ts'
import type { ManagerSettings } from './flags.ts'
import type { ManagerInformers, Stores } from './informers.ts'
import type { ManagerMetrics } from './metrics.ts'

/** Options of joinElection; `identity` is unique to this run of the process. */
interface LeadershipOptions extends ClientParts {
  readonly settings: Pick<ManagerSettings, 'kubeconfig' | 'namespace' | 'leaderElection'>
  readonly lifecycle: Pick<Lifecycle, 'onStop' | 'stop'>
  readonly metrics: ManagerMetrics
  readonly identity: string
}

/** Whether this process leads. */
interface Leadership {
  /** Resolves when this process leads. */
  readonly acquired: Promise<void>
  /** Throws when this process does not lead. */
  readonly mayWrite: () => void
}

const STOP_WITHIN_MS = { connection: 2000, lease: 3000 }

/**
 * Joins the election on a separate connection, because slow requests on a shared one could delay the renewal of the
 * Lease. A leader that loses the Lease ends its process: another replica leads, and the stores here are outdated.
 *
 * @throws Error as `connect` does
 */
export async function joinElection(options: LeadershipOptions): Promise<Leadership> {
  const { settings, clock, log, lifecycle, metrics, identity } = options
  if (settings.leaderElection === null) {
    metrics.leads(true)
    return { acquired: Promise.resolve(), mayWrite: () => undefined }
  }
  const connection = await connectCluster(settings.kubeconfig, clock)
  lifecycle.onStop('lease connection', STOP_WITHIN_MS.connection, () => connection.close())
  const election = runLeaderElection({
    ...settings.leaderElection,
    client: createClient(clientDeps(options, connection, () => undefined)),
    clock,
    log,
    ref: { namespace: settings.namespace, name: CONTROLLER_NAME },
    identity,
  })
  void election.acquired.then(() => metrics.leads(true))
  void election.lost.then(() => {
    metrics.leads(false)
    lifecycle.stop('leadership lost', 1)
  })
  lifecycle.onStop('lease', STOP_WITHIN_MS.lease, () => election.release())
  return { acquired: election.acquired, mayWrite: () => election.mayWrite() }
}

/** Dependencies of serveManager. */
interface ServeOptions {
  readonly settings: ManagerSettings
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: ManagerMetrics
  readonly stores: Stores
  readonly following: ManagerInformers
  readonly keyring: Keyring
}

/**
 * Serves /metrics, /healthz and /readyz at the addresses of the flags (contract 8.2).
 *
 * @throws Error when an address can't be bound
 */
export function serveManager(options: ServeOptions): Promise<void> {
  const { settings, stores, following, lifecycle, keyring } = options
  const readiness = {
    ...commonChecks(lifecycle.stopping, following, { ...stores }),
    'settings-seen': () =>
      following.caps.current() ? null : 'no settings in force have been seen',
    'signing-key-loaded': () =>
      keyring.current() ? null : 'no signing key that is published and sound',
  }
  return serveProbes({ ...options, ...settings, readiness })
}
