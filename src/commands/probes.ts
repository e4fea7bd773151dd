import type { InformerFactory } from '../kube/informer/informers.ts'
import type { BindAddress } from '../runtime/address.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import type { Log } from '../runtime/log.ts'
import { type HealthCheck, type Page, healthPage, servePages } from '../serving/http/pages.ts'
import type { ClientMetrics } from './client-metrics.ts'
import type { Scrape } from '../runtime/metrics.ts'

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
 * Liveness: the process responds. It does not depend on the API server, which a restart of this process
 * would not repair (contract 8.2).
 */
export const livenessPage: Page = healthPage('healthz', { ping: () => null })

/**
 * Serves /metrics, /healthz and /readyz where the flags say so (contract 8.2).
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

/** The fault of these names, in a clause; null without a name. */
const faultOf = (names: readonly string[], fault: string): string | null =>
  names.length === 0 ? null : `${names.join(', ')} ${fault}`

/** Readiness that every process shares (contract 8.2). */
export function commonChecks(
  stopping: AbortSignal,
  { unserved, stuck }: Pick<InformerFactory, 'unserved' | 'stuck'>,
  stores: Readonly<Record<string, { readonly synced: boolean }>>,
): Readonly<Record<string, HealthCheck>> {
  const unsynced = (): readonly string[] =>
    Object.entries(stores).flatMap(([name, { synced }]) => (synced ? [] : [name]))
  return {
    'not-stopping': () => (stopping.aborted ? 'the program is stopping' : null),
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
