import type { MetricName } from '../../api/metrics.ts'
import { findCondition } from '../../domain/conditions.ts'
import type { KeyLife } from '../../domain/signingkey/signing-key.ts'
import { NOTHING_OVERDUE, type Overdue, addOverdue } from '../../domain/time.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { Store } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYielding } from '../../runtime/concurrency/event-loop.ts'
import { type Instruments, type Registry, changingGauge } from '../../runtime/metrics.ts'

/** Sources that are read at each scrape, and must be cheap. */
export interface TokenSources {
  /** Number of tokens by state; a missing state has none. */
  readonly tokensByState: () => Readonly<Record<string, number>>
  /** The published signing keys. */
  readonly signingKeys: () => Iterable<KeyLife>
  /** Number of corrupt Secrets of signing keys. */
  readonly signingKeyFaults: () => number
  /** Number of tokens that are recorded as revoked and have not expired. */
  readonly revokedTokens: () => number
  /** Revoked tokens whose record is not stored yet: their number, and the longest wait. */
  readonly revocationBacklog: () => Overdue
}

/** Counters of issued, signed and revoked tokens. */
export interface TokenMetrics {
  readonly tokenIssued: () => void
  readonly tokenSigned: (seconds: number) => void
  /** Call it when `count` tokens were recorded as revoked. */
  readonly tokensRevoked: (count: number) => void
}

/** ES256 takes a fraction of a millisecond, RS256 with 3072 bits a few milliseconds. */
const SIGNING_BUCKETS = [1e-4, 2.5e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]

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

/** Registers the metrics of tokens (contract 8.4). */
export function tokenMetrics(
  { counter, gauge, histogram }: Instruments<MetricName>,
  tokenStates: readonly string[],
  registry: Registry,
  sources: () => TokenSources,
): TokenMetrics {
  const states = tokenStates.map((state) => ({ state }))
  gauge('platform_tokens', states, ({ state }) => sources().tokensByState()[state])
  const keys = (moment: 'createdMs' | 'endMs') => () =>
    [...sources().signingKeys()].map((key) => [{ kid: key.kid }, key[moment] / 1000] as const)
  changingGauge(registry, SIGNING_KEY_BEGINNINGS, keys('createdMs'))
  changingGauge(registry, SIGNING_KEY_ENDS, keys('endMs'))
  gauge('platform_signing_key_faults', [{}], () => sources().signingKeyFaults())
  gauge('platform_revoked_tokens', [{}], () => sources().revokedTokens())
  const backlog = (): Overdue => sources().revocationBacklog()
  gauge('platform_revocation_backlog', [{}], () => backlog().count)
  gauge('platform_revocation_backlog_seconds', [{}], () => backlog().longestMs / 1000)
  const issued = counter('platform_tokens_issued_total', [{}])
  const signing = histogram('platform_token_signing_seconds', SIGNING_BUCKETS, [{}])
  const revocations = counter('platform_revocations_total', [{}])
  return {
    tokenIssued: () => issued.inc(),
    tokenSigned: (seconds) => signing.observe(seconds),
    tokensRevoked: (count) => revocations.inc(count),
  }
}

/** Label values of platform_tokens{state} (contract 8.4). */
export const TOKEN_STATE_LABELS = [
  'issued',
  'pending',
  'expired',
  'revoked',
  'refused',
  'terminating',
] as const

type StateLabel = (typeof TOKEN_STATE_LABELS)[number]

/** Label by the reason of Ready; any other reason means that the token waits: `pending`. */
const LABELS: Readonly<Record<string, StateLabel>> = {
  Issued: 'issued',
  Expired: 'expired',
  Revoked: 'revoked',
  ScopeExceedsOwner: 'refused',
  ScopeTooLarge: 'refused',
}

/** Number of tokens by state, of capped ones, and of those still in status after their expiry. */
interface TokenCounts {
  readonly byState: Readonly<Record<string, number>>
  readonly capped: number
  readonly overdue: Overdue
}

/**
 * Counts the tokens by status. Yields to the event loop; tokens that change meanwhile may count with their former
 * state.
 */
export async function countTokens(
  tokens: Store<TokenObject>,
  nowMs: number,
  eventLoop: EventLoopShare,
): Promise<TokenCounts> {
  const byState: Record<string, number> = {}
  let capped = 0
  let overdue = NOTHING_OVERDUE
  await forEachYielding(eventLoop, [...tokens.values()], ({ isDeleting, published }) => {
    const reason = findCondition(published.conditions, 'Ready')?.reason ?? ''
    const label = isDeleting ? 'terminating' : (LABELS[reason] ?? 'pending')
    byState[label] = (byState[label] ?? 0) + 1
    if (findCondition(published.conditions, 'LifetimeCapped')) capped += 1
    const endMs = label === 'issued' ? expiryInStatusMs(published) : null
    if (endMs !== null && endMs <= nowMs) overdue = addOverdue(overdue, nowMs - endMs)
  })
  return { byState, capped, overdue }
}

/** Expiry of the token in status, in epoch milliseconds; null = status has none. */
const expiryInStatusMs = ({ issued }: TokenObject['published']): number | null =>
  issued === null || issued === 'damaged' ? null : issued.expiresMs

/** The latest expiry among the tokens in status that a key signed, in epoch milliseconds; null = there are none. */
export function lastExpMs(tokens: Store<TokenObject>, kid: string): number | null {
  let lastMs: number | null = null
  for (const { published } of tokens.values()) {
    const endMs = published.keyID === kid ? expiryInStatusMs(published) : null
    if (endMs !== null) lastMs = Math.max(lastMs ?? endMs, endMs)
  }
  return lastMs
}
