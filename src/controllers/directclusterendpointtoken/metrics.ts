import type { MetricName } from '../../api/metrics.ts'
import { findCondition } from '../../domain/conditions.ts'
import type { KeyLife } from '../../domain/signingkey/signing-key.ts'
import { NOTHING_OVERDUE, type Overdue, addOverdue } from '../../domain/time.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { Store } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYielding } from '../../runtime/concurrency/event-loop.ts'
import { type Instruments, type Registry, changingGauge, inSeconds } from '../../runtime/metrics.ts'

/** Sources that are read at each scrape. Called often: must be cheap. */
export interface TokenSources {
  /** How many tokens are in each state; a state that is missing counts none. */
  readonly tokensByState: () => Readonly<Record<string, number>>
  /** Each published signing key. */
  readonly signingKeys: () => Iterable<KeyLife>
  /** How many Secrets with a signing key are corrupt. */
  readonly signingKeyFaults: () => number
  /** How many tokens are recorded as revoked and have not ended yet. */
  readonly revokedTokens: () => number
  /** Revoked tokens whose record is not stored yet: how many, and since when the oldest waits. */
  readonly revocationBacklog: () => Overdue
}

/** Counts issued, signed and revoked tokens. */
export interface TokenMetrics {
  readonly tokenIssued: () => void
  readonly tokenSigned: (seconds: number) => void
  /** `count` tokens were recorded as revoked. */
  readonly tokensRevoked: (count: number) => void
}

/** ES256 takes a fraction of a millisecond, RS256 with 3072 bits some. */
const SIGNING_BUCKETS = [1e-4, 2.5e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]

const SIGNING_KEY_ENDS = {
  name: 'platform_signing_key_not_after_timestamp_seconds',
  help: 'When each published signing key ends, in seconds since 1970.',
  label: 'kid',
}

const SIGNING_KEY_BEGINNINGS = {
  name: 'platform_signing_key_not_before_timestamp_seconds',
  help: 'When the life of each published signing key began, in seconds since 1970.',
  label: 'kid',
}

/** The metrics of tokens (contract 8.4). */
export function tokenMetrics(
  { counter, gauge, histogram }: Instruments<MetricName>,
  tokenStates: readonly string[],
  registry: Registry,
  sources: () => TokenSources,
): TokenMetrics {
  const states = tokenStates.map((state) => ({ state }))
  gauge('platform_tokens', states, ({ state }) => sources().tokensByState()[state])
  const keys = (moment: 'createdMs' | 'endMs') => () =>
    inSeconds([...sources().signingKeys()].map((key) => [key.kid, key[moment]] as const))
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

/** Reasons of Ready that are no state of their own wait for something: pending. */
const LABELS: Readonly<Record<string, StateLabel>> = {
  Issued: 'issued',
  Expired: 'expired',
  Revoked: 'revoked',
  ScopeExceedsOwner: 'refused',
  ScopeTooLarge: 'refused',
}

/** How many tokens are in each state, how many are capped, and which are out beyond their end. */
interface TokenCounts {
  readonly byState: Readonly<Record<string, number>>
  readonly capped: number
  readonly overdue: Overdue
}

/** Counts the tokens as their status says, in many turns of the event loop: what changes meanwhile as it was. */
export async function countTokens(
  tokens: Store<TokenObject>,
  nowMs: number,
  turns: EventLoopShare,
): Promise<TokenCounts> {
  const byState: Record<string, number> = {}
  let capped = 0
  let overdue = NOTHING_OVERDUE
  await forEachYielding(turns, [...tokens.values()], ({ isDeleting, published }) => {
    const reason = findCondition(published.conditions, 'Ready')?.reason ?? ''
    const label = isDeleting ? 'terminating' : (LABELS[reason] ?? 'pending')
    byState[label] = (byState[label] ?? 0) + 1
    if (findCondition(published.conditions, 'LifetimeCapped')) capped += 1
    const endMs = label === 'issued' ? outMs(published) : null
    if (endMs !== null && endMs <= nowMs) overdue = addOverdue(overdue, nowMs - endMs)
  })
  return { byState, capped, overdue }
}

/** When the token in status ends; null = there is none. */
const outMs = ({ issued }: TokenObject['published']): number | null =>
  issued === null || issued === 'damaged' ? null : issued.expiresMs

/** The latest end among the tokens in status that a key signed; null = there is none. */
export function lastExpMs(tokens: Store<TokenObject>, kid: string): number | null {
  let lastMs: number | null = null
  for (const { published } of tokens.values()) {
    const endMs = published.keyID === kid ? outMs(published) : null
    if (endMs !== null) lastMs = Math.max(lastMs ?? endMs, endMs)
  }
  return lastMs
}
