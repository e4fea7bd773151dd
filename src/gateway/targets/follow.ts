// Follows the targets besides the management cluster, and keeps their connections (contract 9.5).
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import type { Log } from '../../runtime/log.ts'
import { createKubeconfigConnection } from './connection.ts'
import { type SpaceNamespace, TargetConnections } from './connections.ts'
import type { TargetWords } from './definition.ts'
import type { ProbeResult } from './impersonation-probe.ts'
import { createTargetReporter } from './report.ts'
import type { ConnectedTargets } from './resolver.ts'
import { followTargetSecrets, type TargetSecretReader } from './secrets.ts'

/** Dependencies of startConnectedTargets. */
export interface ConnectedTargetsOptions {
  /** The namespace of the Secrets, for Events about them. */
  readonly namespace: string
  readonly reader: TargetSecretReader
  readonly events: EventRecorder
  /** Opens an upstream by a kubeconfig, as KubeconfigConnectionOptions.open. */
  readonly open: (kubeconfig: string) => Promise<Upstream>
  /** As in TargetConnectionsOptions: null at the gateway. */
  readonly ownCluster: Upstream | null
  /** As in ImpersonationProbeOptions. */
  readonly extras: Readonly<Record<string, string>>
  /** For the audit logs of targets. */
  readonly userAgent: string
  readonly clock: Clock
  readonly log: Log
  /** Stops following. */
  readonly signal: AbortSignal
}

/** The targets of this process. */
export interface StartedTargets extends ConnectedTargets {
  /** All targets that Secrets name, and whether each works; none does while the Secrets are stale. */
  readonly readiness: () => Iterable<readonly [TargetWords, boolean]>
  /** The usable spaces; none while the Secrets are stale. */
  readonly spaces: () => readonly SpaceNamespace[]
  /** Closes all connections. */
  readonly close: () => Promise<void>
}

const PROBES_AT_A_TIME = 8

/** Starts to follow the Secrets. Until the first list there are no targets, and nothing is fresh. */
export function startConnectedTargets(options: ConnectedTargetsOptions): StartedTargets {
  const { clock, open, ownCluster, extras, userAgent } = options
  const report = createTargetReporter(options)
  const semaphore = createSemaphore(PROBES_AT_A_TIME, 1)
  const table = new TargetConnections({
    clock,
    ownCluster,
    connectionOf: (kubeconfig) =>
      createKubeconfigConnection({ open: () => open(kubeconfig), extras, userAgent, clock }),
    turn: (key, probe) => semaphore<ProbeResult>(key, probe),
    changed: () => report(secrets.all(), table.statuses()),
  })
  const secrets = followTargetSecrets({
    ...options,
    isDirect: ownCluster !== null,
    changed: (all) => table.apply(all),
  })
  return {
    find: (target) => table.find(target),
    isFresh: secrets.isFresh,
    subscribe: (listener) => table.subscribe(listener),
    spaces: () => (secrets.isFresh() ? table.spaces() : []),
    readiness: () => {
      const isFresh = secrets.isFresh()
      return table.readiness().map(([words, isReady]) => [words, isReady && isFresh])
    },
    close: () => table.close(),
  }
}
