// The metrics of the secret store (contract 36.5).
import type { MetricName } from '../../api/metrics.ts'
import { SYNC_OUTCOMES } from '../../domain/store/round-status.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import type { StoreSyncObserver } from './deps.ts'

/** The metrics of the store, with the observer of its syncs. */
export interface StoreMetrics {
  readonly store: StoreSyncObserver & {
    /** @param atMs epoch milliseconds since when a Secret is out of step; null = all are in step, or the store is off */
    readonly laggingSince: (atMs: number | null) => void
    /** @param atMs epoch milliseconds at which the token ends; null = it does not, or none is in use */
    readonly tokenEnds: (atMs: number | null) => void
  }
}

const OUTCOMES = (['Pull', 'Push'] as const).flatMap((direction) =>
  SYNC_OUTCOMES.map((outcome) => ({ direction: direction.toLowerCase(), outcome })),
)

/** Creates the metrics, all at zero. @param nowMs the time of a scrape, epoch milliseconds */
export function storeMetrics(
  { counter, gauge }: Instruments<MetricName>,
  nowMs: () => number,
): StoreMetrics {
  let sinceMs: number | null = null
  const syncs = counter('platform_secret_store_syncs_total', OUTCOMES)
  gauge('platform_secret_store_lag_seconds', [{}], () =>
    sinceMs === null ? 0 : Math.max(nowMs() - sinceMs, 0) / 1000,
  )
  const expiry = gauge('platform_secret_store_token_expiry_timestamp_seconds', [{}])
  return {
    store: {
      compared: (direction, outcome) => syncs.inc({ direction: direction.toLowerCase(), outcome }),
      laggingSince: (atMs) => {
        sinceMs = atMs
      },
      tokenEnds: (atMs) => expiry.set(atMs === null ? 0 : atMs / 1000),
    },
  }
}
