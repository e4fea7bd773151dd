// The client of the API server in a process: its connection, what it counts, and its Events.
import { CONTROLLER_NAME, FIELD_MANAGER } from '../../api/names.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Connection, connect } from '../../kube/client/connection.ts'
import { findKubeconfig } from '../../kube/client/kubeconfig.ts'
import type { ClientDeps, ClientObserver } from '../../kube/client/request.ts'
import { type EventRecorder, createEventRecorder } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import type { ClientMetrics } from './client-metrics.ts'
import { processInputs } from './process.ts'

/**
 * Connects to the cluster that the flag or the environment names (contract 8.1).
 *
 * @param kubeconfig value of the flag; null = not set
 * @throws Error when no cluster is named, or the kubeconfig is unreadable
 */
export const connectCluster = async (
  kubeconfig: string | null,
  clock: Clock,
): Promise<Connection> => connect(findKubeconfig(kubeconfig, processInputs.env), clock)

const STOP_WITHIN_MS = { connection: 2000, events: 2000 }

/** The parts of a process that startConnection uses. */
interface ConnectedProcess {
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Pick<Lifecycle, 'onStop'>
}

/**
 * Connects as connectCluster does. The connection logs outages of the API server, and closes when the process stops.
 *
 * @throws Error as connectCluster does
 */
export async function startConnection(
  { clock, log, lifecycle }: ConnectedProcess,
  kubeconfig: string | null,
): Promise<Connection> {
  const connection = await connectCluster(kubeconfig, clock)
  lifecycle.onStop('connection', STOP_WITHIN_MS.connection, () => connection.close())
  connection.breaker.report(log)
  return connection
}

/** The parts of a process that clientDeps uses. */
export interface ClientProcess {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ClientMetrics
}

/** The dependencies of an API client. @param mayWrite throws when this process may not write */
export function clientDeps(
  { clock, log, metrics }: ClientProcess,
  connection: Connection,
  mayWrite: () => void,
): ClientDeps {
  const userAgent = `${CONTROLLER_NAME}/${PROGRAM_VERSION}`
  const observer = observeClient(metrics, clock, log)
  return { connection, clock, observer, userAgent, fieldManager: FIELD_MANAGER, mayWrite }
}

/**
 * The dependencies of an API client for a command line tool, which counts nothing and elects no leader.
 *
 * @param name the field manager, also the name in the user agent: the API server's audit log shows it
 */
export const toolClientDeps = (connection: Connection, clock: Clock, name: string): ClientDeps => ({
  connection,
  clock,
  observer: { responded: () => undefined, wrote: () => undefined },
  userAgent: `${name}/${PROGRAM_VERSION}`,
  fieldManager: name,
  mayWrite: () => undefined,
})

/**
 * Connects a command line tool for as long as `use` runs.
 *
 * @param name as in toolClientDeps
 * @throws Error as connectCluster does, and whatever `use` throws
 */
export async function withToolClient<T>(
  { kubeconfig, clock, name }: ToolClient,
  use: (deps: ClientDeps) => Promise<T>,
): Promise<T> {
  const connection = await connectCluster(kubeconfig, clock)
  try {
    return await use(toolClientDeps(connection, clock, name))
  } finally {
    await connection.close()
  }
}

/** The client of a command line tool. */
interface ToolClient {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  readonly clock: Clock
  readonly name: string
}

/** The parts of a process that startEventRecorder uses. */
interface RecordingProcess {
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Pick<Lifecycle, 'onStop'>
}

/**
 * Starts a recorder of Events. When the process stops, it sends the Events that wait, for two seconds at most.
 *
 * @param instance this process, as `reportingInstance` of its Events
 */
export function startEventRecorder(
  { clock, log, lifecycle }: RecordingProcess,
  client: KubeClient,
  instance: string,
): EventRecorder {
  const events = createEventRecorder({ client, instance, clock, log })
  lifecycle.onStop('events', STOP_WITHIN_MS.events, async () => {
    await events.flush(AbortSignal.timeout(STOP_WITHIN_MS.events))
    events.stop()
  })
  return events
}

/** Mean error of a Date header, which has whole seconds. */
const MEAN_DATE_ERROR_MS = 500
const TOLERATED_SKEW_MS = 2000

/** Counts requests and writes, and warns when our clock and the API server's differ (contract 2.9). */
function observeClient(metrics: ClientMetrics, clock: Clock, log: Log): ClientObserver {
  let isSkewed = false
  const compareClocks = (dateMs: number): void => {
    const skewMs = clock.nowMs() - (dateMs + MEAN_DATE_ERROR_MS)
    metrics.clockSkewed(skewMs / 1000)
    const wasSkewed = isSkewed
    isSkewed = Math.abs(skewMs) > TOLERATED_SKEW_MS
    if (isSkewed && !wasSkewed)
      log.warn({ skewMs }, "local clock and the API server's differ, keys may end early or late")
  }
  return {
    responded: (method, code, dateMs) => {
      metrics.responded(method, code)
      if (dateMs !== null) compareClocks(dateMs)
    },
    wrote: (kind, reason) => metrics.wrote(kind, reason),
  }
}
