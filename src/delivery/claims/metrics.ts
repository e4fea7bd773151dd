// The metrics of claims (contract 28.7).
import type { MetricName } from '../../api/metrics.ts'
import { REASONS } from '../../api/reasons.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import { ROTATION_CAUSES } from '../../domain/claim/replacement.ts'
import { findCondition } from '../../domain/conditions.ts'
import { parseTimestamp } from '../../domain/time.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import type { ClaimObserver } from './deps.ts'

/** What the gauges are read from at each scrape. */
interface ClaimCounts {
  /** Claims by the state that their status shows, as label values. */
  readonly byState: Readonly<Record<string, number>>
  /** By how much the most overdue rotation is late, in seconds; 0 = none is. */
  readonly overdueSeconds: number
}

/** A replica that stands by counts no claims. */
const NO_CLAIMS: ClaimCounts = { byState: {}, overdueSeconds: 0 }

/** Label value of a state. */
const labelOf = (state: string): string => state.replaceAll(/[a-z](?=[A-Z])/g, '$&_').toLowerCase()

/** Counts claims by state. One without a status is pending. */
export function countClaims(claims: Iterable<Claim>, nowMs: number): ClaimCounts {
  const byState: Record<string, number> = {}
  let overdueMs = 0
  for (const { published } of claims) {
    const label = labelOf(findCondition(published.conditions, 'Ready')?.reason ?? 'Pending')
    byState[label] = (byState[label] ?? 0) + 1
    const dueMs = parseTimestamp(published.nextRotation)
    if (dueMs !== null) overdueMs = Math.max(overdueMs, nowMs - dueMs)
  }
  return { byState, overdueSeconds: overdueMs / 1000 }
}

/** The metrics of claims, with the observer that counts what is delivered. */
export interface ClaimMetrics {
  readonly claims: ClaimObserver
  /** Sets the source of the gauges. */
  readonly followClaims: (source: () => ClaimCounts) => void
}

const DELIVERY_BUCKETS = [0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 3600]

/** Creates the metrics, all at zero. */
export function claimMetrics({ counter, gauge, histogram }: Instruments<MetricName>): ClaimMetrics {
  let source = (): ClaimCounts => NO_CLAIMS
  const states = REASONS.claimReady.map((state) => ({ state: labelOf(state) }))
  gauge('platform_claims', states, ({ state }) => source().byState[state])
  gauge('platform_claim_rotation_overdue_seconds', [{}], () => source().overdueSeconds)
  const rotations = counter(
    'platform_claim_rotations_total',
    ROTATION_CAUSES.map((cause) => ({ cause })),
  )
  const mended = counter('platform_claim_secrets_mended_total', [{}])
  const delivery = histogram('platform_claim_delivery_seconds', DELIVERY_BUCKETS, [{}])
  return {
    claims: {
      delivered: (cause, seconds) => {
        rotations.inc({ cause })
        delivery.observe(seconds)
        if (cause === 'secret_changed') mended.inc()
      },
    },
    followClaims: (from) => {
      source = from
    },
  }
}
