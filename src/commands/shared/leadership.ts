// Leader election of a command: one process leads, the others stand by. A leader that loses its Lease exits.
import type { MetricName } from '../../api/metrics.ts'
import { type ObjectRef, createClient } from '../../kube/client/client.ts'
import {
  type LeaderElectionSettings,
  runLeaderElection,
} from '../../kube/leader-election/elector.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import { type ClientProcess, clientDeps, connectCluster } from './cluster-client.ts'

/** The parts of a process that joinElection uses. */
interface ElectionProcess extends ClientProcess {
  readonly lifecycle: Pick<Lifecycle, 'onStop' | 'stop'>
  readonly metrics: ClientProcess['metrics'] & { readonly leads: (isLeader: boolean) => void }
}

/** Which Lease to hold, and how. */
interface CandidacyOptions {
  /** The kubeconfig of the cluster with the Lease; null as in `connectCluster`. */
  readonly kubeconfig: string | null
  readonly lease: Required<ObjectRef>
  /** null = no election: this process leads at once. */
  readonly leaderElection: LeaderElectionSettings | null
  /** Unique to this run of the process. */
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
export async function joinElection(
  self: ElectionProcess,
  { kubeconfig, lease, leaderElection, identity }: CandidacyOptions,
): Promise<Leadership> {
  const { clock, log, lifecycle, metrics } = self
  if (leaderElection === null) {
    metrics.leads(true)
    return { acquired: Promise.resolve(), mayWrite: () => undefined }
  }
  const connection = await connectCluster(kubeconfig, clock)
  lifecycle.onStop('lease connection', STOP_WITHIN_MS.connection, () => connection.close())
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = leaderElection
  const election = runLeaderElection({
    leaseDurationMs,
    renewDeadlineMs,
    retryPeriodMs,
    client: createClient(clientDeps(self, connection, () => undefined)),
    clock,
    log,
    ref: lease,
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

/** The metric of leader election. @param lease the name of the Lease */
export function leaderMetrics(
  { gauge }: Instruments<MetricName>,
  lease: string,
): { readonly leads: (isLeader: boolean) => void } {
  const leader = gauge('leader_election_master_status', [{ name: lease }])
  return { leads: (isLeader) => leader.set({ name: lease }, isLeader ? 1 : 0) }
}
