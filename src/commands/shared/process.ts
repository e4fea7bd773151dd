// Parts that all commands share: the connection to the API server, the environment, probes and metrics.
import { readFileSync } from 'node:fs'
import { CONTROLLER_NAME, FIELD_MANAGER } from '../../api/names.ts'
import { type Connection, connect } from '../../kube/client/connection.ts'
import type { PublicPage } from '../../gateway/stages/public-routes.ts'
import { findKubeconfig } from '../../kube/client/kubeconfig.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { ClientDeps, ClientObserver } from '../../kube/client/request.ts'
import { type EventRecorder, createEventRecorder } from '../../kube/event-recorder.ts'
import type { InformerFactory } from '../../kube/informer/informers.ts'
import type { BindAddress } from '../../runtime/address.ts'
import type { Clock } from '../../runtime/clock.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import type { Scrape } from '../../runtime/metrics.ts'
import { type HealthCheck, type Page, healthPage, servePages } from '../../serving/http/pages.ts'
import type { ClientMetrics } from './client-metrics.ts'
import type { ProcessInputs } from './flags.ts'

/** Dependencies of clientDeps. */
export interface ClientParts {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ClientMetrics
}

/** The dependencies of an API client. @param mayWrite throws when this process may not write */
export function clientDeps(
  { clock, log, metrics }: ClientParts,
  connection: Connection,
  mayWrite: () => void,
): ClientDeps {
  const userAgent = `${CONTROLLER_NAME}/${PROGRAM_VERSION}`
  const observer = observeClient(metrics, clock, log)
  return { connection, clock, observer, userAgent, fieldManager: FIELD_MANAGER, mayWrite }
}

const EVENTS_STOP_WITHIN_MS = 2000

/** Dependencies of startEventRecorder. */
interface EventRecorderParts {
  readonly client: KubeClient
  /** This process, as `reportingInstance` of its Events. */
  readonly instance: string
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
}

/** Starts a recorder of Events. At the stop it sends those that wait, for two seconds at most. */
export function startEventRecorder({ lifecycle, ...parts }: EventRecorderParts): EventRecorder {
  const events = createEventRecorder(parts)
  lifecycle.onStop('events', EVENTS_STOP_WITHIN_MS, async () => {
    await events.flush(AbortSignal.timeout(EVENTS_STOP_WITHIN_MS))
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

/** The environment and files of this process. */
export const processInputs: ProcessInputs = {
  env: (name) => process.env[name] ?? null,
  file: (path) => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return null
    }
  },
}

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

/** Addresses and sources of the probe and metrics servers of a process. */
interface ProbesOptions {
  readonly healthAddress: BindAddress | null
  readonly metricsAddress: BindAddress | null
  readonly readiness: Readonly<Record<string, HealthCheck>>
  readonly metrics: Pick<ClientMetrics, 'followReadiness'> & { readonly scrape: Scrape }
  readonly log: Log
  readonly lifecycle: Lifecycle
}

const STOP_WITHIN_MS = 2000

/**
 * The liveness page: the process responds. Liveness does not depend on the API server, because a restart of this
 * process would not repair that (contract 8.2).
 */
export const livenessPage: Page = healthPage('healthz', { ping: () => null })

/**
 * Serves /metrics, /healthz and /readyz at the addresses of the flags; null = not served (contract 8.2).
 *
 * @throws Error when an address can't be bound
 */
export async function serveProbes(options: ProbesOptions): Promise<void> {
  const { healthAddress, metricsAddress, readiness, metrics } = options
  metrics.followReadiness(readiness)
  await serve(options, 'health probes', healthAddress, {
    '/healthz': livenessPage,
    '/readyz': healthPage('readyz', readiness),
  })
  await serve(options, 'metrics', metricsAddress, {
    '/metrics': async () => ({ status: 200, ...(await metrics.scrape()) }),
  })
}

/** The page for requests without a credential, on the main address. */
export const publicPageOf =
  (page: Page): PublicPage =>
  async (_, query) => {
    const { status, contentType, body } = await page(query)
    const headers = { 'content-type': contentType, 'cache-control': 'no-store' }
    return { status, headers, body: Buffer.from(body) }
  }

/** A clause with the names and their common fault; null without names. */
const faultOf = (names: readonly string[], fault: string): string | null =>
  names.length === 0 ? null : `${names.join(', ')} ${fault}`

/** The check that every process has. */
export const stoppingCheck = (stopping: AbortSignal): Readonly<Record<string, HealthCheck>> => ({
  'not-stopping': () => (stopping.aborted ? 'the program is stopping' : null),
})

/** The readiness checks of every process that watches (contract 8.2). */
export function commonChecks(
  stopping: AbortSignal,
  { unserved, stuck }: Pick<InformerFactory, 'unserved' | 'stuck'>,
  stores: Readonly<Record<string, { readonly synced: boolean }>>,
): Readonly<Record<string, HealthCheck>> {
  const unsynced = (): readonly string[] =>
    Object.entries(stores).flatMap(([name, { synced }]) => (synced ? [] : [name]))
  return {
    ...stoppingCheck(stopping),
    'crds-served': () =>
      faultOf(unserved(), 'not served, install the CRDs with kubectl apply -k crds'),
    'stores-synced': () =>
      faultOf(unsynced(), 'not listed yet') ??
      faultOf(stuck(), 'failed three times on the same events, being listed again: see the log'),
  }
}

async function serve(
  { log, lifecycle }: ProbesOptions,
  name: string,
  address: BindAddress | null,
  pages: Readonly<Record<string, Page>>,
): Promise<void> {
  if (address === null) return
  const server = await servePages(address, pages, log)
  lifecycle.onStop(`${name} server`, STOP_WITHIN_MS, () => server.close())
  log.info({ port: server.port }, `serving ${name}`)
}
