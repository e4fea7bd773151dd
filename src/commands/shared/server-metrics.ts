// The metrics of every HTTPS server of the product (contract 15). They have the same names in all: the job of a scrape tells the
// processes apart.
import type { MetricName } from '../../api/metrics.ts'
import type { Instruments } from '../../runtime/metrics.ts'

/** The metrics, with a method for each event that they count. */
export interface ServerMetrics {
  /** A connection was refused. */
  readonly connectionDropped: () => void
  /** A certificate is in use; its validity in epoch milliseconds. */
  readonly certificateShown: (notBeforeMs: number, notAfterMs: number) => void
}

/** Creates the metrics, all at zero. */
export function serverMetrics({ counter, gauge }: Instruments<MetricName>): ServerMetrics {
  const dropped = counter('platform_gateway_connections_dropped_total', [{}])
  const notBefore = gauge('platform_gateway_certificate_not_before_timestamp_seconds', [{}])
  const notAfter = gauge('platform_gateway_certificate_not_after_timestamp_seconds', [{}])
  return {
    connectionDropped: () => dropped.inc(),
    certificateShown: (notBeforeMs, notAfterMs) => {
      notBefore.set(notBeforeMs / 1000)
      notAfter.set(notAfterMs / 1000)
    },
  }
}
