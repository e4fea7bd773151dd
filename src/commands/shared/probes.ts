// The probes and metrics of a process, and the readiness checks that every process has (contract 8.2).
import type { InformerFactory } from '../../kube/informer/informers.ts'
import type { BindAddress } from '../../runtime/address.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import type { Scrape } from '../../runtime/metrics.ts'
import { type HealthCheck, type Page, healthPage, servePages } from '../../serving/http/pages.ts'
import type { ClientMetrics } from './client-metrics.ts'

/** Readiness checks by name; each returns its fault, or null. */
export type Readiness = Readonly<Record<string, HealthCheck>>

/** The parts of a process that serveProbes uses. */
interface ProbedProcess {
  readonly settings: {
    /** null = no health server. */
    readonly healthAddress: BindAddress | null
    /** null = no metrics server. */
    readonly metricsAddress: BindAddress | null
  }
  readonly metrics: Pick<ClientMetrics, 'followReadiness'> & { readonly scrape: Scrape }
  readonly log: Log
  readonly lifecycle: Pick<Lifecycle, 'onStop'>
}

const STOP_WITHIN_MS = 2000

/**
 * The liveness page: the process responds. Liveness does not depend on the API server, because a restart of this
 * process would not repair that (contract 8.2).
 */
export const livenessPage: Page = healthPage('healthz', { ping: () => null })

/**
 * Serves /metrics, /healthz and /readyz at the addresses of the flags (contract 8.2).
 *
 * @throws Error when an address can't be bound
 */
export async function serveProbes(self: ProbedProcess, readiness: Readiness): Promise<void> {
  const { settings, metrics } = self
  metrics.followReadiness(readiness)
  await serve(self, 'health probes', settings.healthAddress, {
    '/healthz': livenessPage,
    '/readyz': healthPage('readyz', readiness),
  })
  await serve(self, 'metrics', settings.metricsAddress, {
    '/metrics': async () => {
      const { contentType, body } = await metrics.scrape()
      return { status: 200, contentType, body }
    },
  })
}

/** A clause with the names and their common fault; null without names. */
const faultOf = (names: readonly string[], fault: string): string | null =>
  names.length === 0 ? null : `${names.join(', ')} ${fault}`

/** The check that every process has. */
export const stoppingCheck = (stopping: AbortSignal): Readiness => ({
  'not-stopping': () => (stopping.aborted ? 'the program is stopping' : null),
})

/** The readiness checks of every process that watches (contract 8.2). */
export function commonChecks(
  stopping: AbortSignal,
  { unserved, stuck }: Pick<InformerFactory, 'unserved' | 'stuck'>,
  stores: Readonly<Record<string, { readonly synced: boolean }>>,
): Readiness {
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
  { log, lifecycle }: ProbedProcess,
  name: string,
  address: BindAddress | null,
  pages: Readonly<Record<string, Page>>,
): Promise<void> {
  if (address === null) return
  const server = await servePages(address, pages, log)
  lifecycle.onStop(`${name} server`, STOP_WITHIN_MS, () => server.close())
  log.info({ port: server.port }, `serving ${name}`)
}
