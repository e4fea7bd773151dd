// The two clusters of a syncer: connections, clients, recorders of Events, and the gate of all writes.
import { NotLeaderError } from '../../kube/client/api-error.ts'
import { anyOutage, type Outage } from '../../kube/client/circuit-breaker.ts'
import { createClient, type KubeClient, readServedKinds } from '../../kube/client/client.ts'
import type { Connection } from '../../kube/client/connection.ts'
import {
  createNamespaceContent,
  type NamespaceContent,
} from '../../kube/client/namespace-content.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import { createServedKinds, type ServedKinds } from '../../sync/references/served-kinds.ts'
import { clientDeps, connectCluster, startEventRecorder } from '../shared/cluster-client.ts'
import type { CommandProcess } from '../shared/process.ts'
import type { SyncerSettings } from './flags.ts'
import type { SyncerMetrics } from './metrics.ts'

/** Shared by all parts of a syncer. */
export type SyncerProcess = CommandProcess<SyncerSettings, SyncerMetrics>

/** Both clusters. */
export interface SyncerClusters {
  readonly clients: { readonly virtual: KubeClient; readonly host: KubeClient }
  /** Recorders of Events in each cluster. */
  readonly events: { readonly virtual: EventRecorder; readonly host: EventRecorder }
  readonly hostContent: NamespaceContent
  /** The kinds that the virtual cluster serves. */
  readonly served: ServedKinds
  readonly outage: Outage
  /** Replaces the check before each write; until it is called, every write fails with NotLeaderError. */
  readonly setMayWrite: (mayWrite: () => void) => void
}

const STOP_WITHIN_MS = 2000

/**
 * Connects to both clusters.
 *
 * @param instance this process, as `reportingInstance` of its Events
 */
export async function connectClusters(
  self: SyncerProcess,
  instance: string,
): Promise<SyncerClusters> {
  const { settings } = self
  const virtual = await connectedTo(settings.virtualKubeconfig, 'virtual', self)
  const host = await connectedTo(settings.hostKubeconfig, 'host', self)
  let mayWrite = (): void => {
    throw new NotLeaderError()
  }
  const depsOf = (connection: Connection) => clientDeps(self, connection, () => mayWrite())
  const hostDeps = depsOf(host)
  const clients = { virtual: createClient(depsOf(virtual)), host: createClient(hostDeps) }
  return {
    clients,
    events: {
      virtual: startEventRecorder(self, clients.virtual, instance),
      host: startEventRecorder(self, clients.host, instance),
    },
    hostContent: createNamespaceContent(hostDeps),
    served: servedKinds(virtual, self),
    outage: anyOutage([virtual.breaker, host.breaker]),
    setMayWrite: (check) => {
      mayWrite = check
    },
  }
}

async function connectedTo(
  kubeconfig: string | null,
  cluster: string,
  { clock, log, lifecycle }: SyncerProcess,
): Promise<Connection> {
  const connection = await connectCluster(kubeconfig, clock)
  lifecycle.onStop(`${cluster} connection`, STOP_WITHIN_MS, () => connection.close())
  connection.breaker.report(log.child({ cluster }))
  return connection
}

/** A process that does not lead may ask, too. */
function servedKinds(virtual: Connection, self: SyncerProcess): ServedKinds {
  const deps = clientDeps(self, virtual, () => undefined)
  return createServedKinds((group, version) => readServedKinds(deps, group, version), self.clock)
}
