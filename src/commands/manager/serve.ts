import type { Clock } from '../../runtime/clock.ts'
import type { BindAddress } from '../../runtime/address.ts'
import { type HealthCheck, healthPage } from '../../runtime/health.ts'
import { type Page, servePages } from '../../runtime/http.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { ManagerSettings } from '../../runtime/settings.ts'
import type { Following, Stores } from './stores.ts'

/** What the probe and metrics servers look at. */
export interface ServeOptions {
  readonly settings: ManagerSettings
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: Metrics
  readonly stores: Stores
  readonly following: Following
}

const STOP_WITHIN_MS = 2000

/**
 * Serves /metrics, /healthz and /readyz where the flags say so (contract 8.2). Health does not
 * depend on the API server: restarting us would mend nothing there.
 *
 * @throws Error when an address can't be bound
 */
export async function serveProbes(options: ServeOptions): Promise<void> {
  const { settings, metrics } = options
  const alive = healthPage('healthz', { ping: () => null })
  const ready = healthPage('readyz', readinessChecks(options))
  const scrape: Page = async () => ({ status: 200, ...(await metrics.scrape()) })
  await serve(options, 'health probes', settings.healthAddress, {
    '/healthz': alive,
    '/readyz': ready,
  })
  await serve(options, 'metrics', settings.metricsAddress, { '/metrics': scrape })
}

function readinessChecks({
  stores,
  following,
  lifecycle,
}: ServeOptions): Readonly<Record<string, HealthCheck>> {
  const unsynced = (): string[] =>
    Object.entries(stores).flatMap(([name, { synced }]: [string, { readonly synced: boolean }]) =>
      synced ? [] : [name],
    )
  return {
    'not-stopping': () => (lifecycle.stopping.aborted ? 'the program is stopping' : null),
    'crds-served': () =>
      missing(following.absent(), 'not served, install the CRDs with kubectl apply -k crds'),
    'stores-synced': () => missing(unsynced(), 'not listed yet'),
    'settings-seen': () =>
      following.caps.current() ? null : 'no settings in force have been seen',
  }
}

const missing = (names: readonly string[], what: string): string | null =>
  names.length === 0 ? null : `${names.join(', ')} ${what}`

async function serve(
  { log, lifecycle }: ServeOptions,
  what: string,
  address: BindAddress | null,
  pages: Readonly<Record<string, Page>>,
): Promise<void> {
  if (address === null) return
  const server = await servePages(address, pages, log)
  lifecycle.onStop(`${what} server`, STOP_WITHIN_MS, () => server.close())
  log.info({ port: server.port }, `serving ${what}`)
}
