// The metrics of every process that talks to the API server (contract 8.4).
import type { MetricName } from '../../api/metrics.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import type { HealthCheck } from '../../serving/http/pages.ts'

/** The values of labels, which are closed sets. */
export interface ClientLabels {
  /** The kinds that this process writes, each with the reasons of its writes. */
  readonly writes: Readonly<Record<string, readonly string[]>>
  /** Plurals of the resources that this process watches. */
  readonly watches: readonly string[]
  readonly watchRestartReasons: readonly string[]
}

/** Counts requests to the API server, writes and restarts of watches, and measures clock skew. */
export interface ClientMetrics {
  /** @param code HTTP status, or `<error>` without a response, as in client-go */
  readonly responded: (method: string, code: string) => void
  readonly wrote: (kind: string, reason: string) => void
  readonly watchRestarted: (resource: string, reason: string) => void
  /** Reports local time minus the API server's time. */
  readonly clockSkewed: (seconds: number) => void
  /** Exports the checks of /readyz as platform_ready; must be called once, before the first scrape. */
  readonly followReadiness: (checks: Readonly<Record<string, HealthCheck>>) => void
}

/** Methods and status codes that have a series from the start; others get one when they occur. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const CODES = [
  '200',
  '201',
  '401',
  '403',
  '404',
  '409',
  '422',
  '429',
  '500',
  '503',
  '504',
  '<error>',
]

/** Creates these metrics, all at zero, and the one with the version of the program. */
export function clientMetrics(
  { counter, gauge }: Instruments<MetricName>,
  { writes, watches, watchRestartReasons }: ClientLabels,
): ClientMetrics {
  const calls = METHODS.flatMap((method) => CODES.map((code) => ({ code, method })))
  const written = Object.entries(writes).flatMap(([kind, reasons]) =>
    reasons.map((reason) => ({ kind, reason })),
  )
  const watched = watches.flatMap((resource) =>
    watchRestartReasons.map((reason) => ({ resource, reason })),
  )
  const requests = counter('rest_client_requests_total', calls)
  const apiWrites = counter('platform_api_writes_total', written)
  const restarts = counter('platform_watch_restarts_total', watched)
  const skew = gauge('platform_clock_skew_seconds', [{}])
  gauge('platform_build_info', [{ version: PROGRAM_VERSION }], () => 1)
  return {
    responded: (method, code) => requests.inc({ code, method }),
    wrote: (kind, reason) => apiWrites.inc({ kind, reason }),
    watchRestarted: (resource, reason) => restarts.inc({ resource, reason }),
    clockSkewed: (seconds) => skew.set(seconds),
    followReadiness: (checks) => {
      const checkLabels = Object.keys(checks).map((check) => ({ check }))
      gauge('platform_ready', checkLabels, ({ check }) => (checks[check]?.() === null ? 1 : 0))
    },
  }
}
