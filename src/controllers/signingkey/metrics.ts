import type { MetricName } from '../../api/metrics.ts'
import type { KeyLife } from '../../domain/signingkey/signing-key.ts'
import { type Instruments, type Registry, changingGauge } from '../../runtime/metrics.ts'

/** Sources that are read at each scrape, and must be cheap. */
export interface SigningKeySources {
  /** The published signing keys. */
  readonly signingKeys: () => Iterable<KeyLife>
  /** Number of corrupt Secrets of signing keys. */
  readonly signingKeyFaults: () => number
}

const SIGNING_KEY_ENDS = {
  name: 'platform_signing_key_not_after_timestamp_seconds',
  help: 'Unix time at which a published signing key expires, by key ID.',
  labels: ['kid'],
} as const

const SIGNING_KEY_BEGINNINGS = {
  name: 'platform_signing_key_not_before_timestamp_seconds',
  help: 'Unix time at which a published signing key was created, by key ID.',
  labels: ['kid'],
} as const

/** Registers the metrics of signing keys (contract 8.4), which all are read at the scrape. */
export function signingKeyMetrics(
  { gauge }: Instruments<MetricName>,
  registry: Registry,
  sources: () => SigningKeySources,
): void {
  const keys = (moment: 'createdMs' | 'endMs') => () =>
    [...sources().signingKeys()].map((key) => [{ kid: key.kid }, key[moment] / 1000] as const)
  changingGauge(registry, SIGNING_KEY_BEGINNINGS, keys('createdMs'))
  changingGauge(registry, SIGNING_KEY_ENDS, keys('endMs'))
  gauge('platform_signing_key_faults', [{}], () => sources().signingKeyFaults())
}
