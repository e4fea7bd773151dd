import type { Registry } from 'prom-client'
import { changingGauge, type Instruments } from './instruments.ts'

/** What of tokens and signing keys is read at each scrape. Called often: must be cheap. */
export interface TokenSources {
  /** How many tokens are in each state; a state that is missing counts none. */
  readonly tokensByState: () => Readonly<Record<string, number>>
  /** `kid` and end of each published signing key, in epoch milliseconds. */
  readonly signingKeyEnds: () => Iterable<readonly [kid: string, endMs: number]>
}

/** What happens to tokens. */
export interface TokenMetrics {
  readonly tokenIssued: () => void
  readonly tokenSigned: (seconds: number) => void
  /** So many tokens were recorded as revoked. */
  readonly tokensRevoked: (count: number) => void
}

/** ES256 takes a fraction of a millisecond, RS256 with 3072 bits some. */
const SIGNING_BUCKETS = [1e-4, 2.5e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]

const SIGNING_KEY_ENDS = {
  name: 'platform_signing_key_not_after_timestamp_seconds',
  help: 'When each published signing key ends, in seconds since 1970.',
  label: 'kid',
}

/** The metrics of tokens (contract 8.4). */
export function tokenMetrics(
  { counter, gauge, histogram }: Instruments,
  tokenStates: readonly string[],
  registry: Registry,
  sources: () => TokenSources,
): TokenMetrics {
  const states = tokenStates.map((state) => ({ state }))
  gauge('platform_tokens', states, ({ state }) => sources().tokensByState()[state])
  changingGauge(registry, SIGNING_KEY_ENDS, () =>
    [...sources().signingKeyEnds()].map(([kid, endMs]) => [kid, endMs / 1000] as const),
  )
  const issued = counter('platform_tokens_issued_total', [{}])
  const signing = histogram('platform_token_signing_seconds', SIGNING_BUCKETS, [{}])
  const revocations = counter('platform_revocations_total', [{}])
  return {
    tokenIssued: () => issued.inc(),
    tokenSigned: (seconds) => signing.observe(seconds),
    tokensRevoked: (count) => revocations.inc(count),
  }
}
