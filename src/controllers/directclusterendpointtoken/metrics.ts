import type { MetricName } from '../../api/metrics.ts'
import { findCondition } from '../../domain/conditions.ts'
import { NOTHING_OVERDUE, addOverdue } from '../../domain/time.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { ObjectCounts } from '../../kube/controller/definition.ts'
import type { Store } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYielding } from '../../runtime/concurrency/event-loop.ts'
import type { Instruments } from '../../runtime/metrics.ts'

/** Counters of issued, signed and revoked tokens. */
export interface TokenMetrics {
  readonly tokenIssued: () => void
  readonly tokenSigned: (seconds: number) => void
  /** Call it when `count` tokens were recorded as revoked. */
  readonly tokensRevoked: (count: number) => void
}

/** ES256 takes a fraction of a millisecond, RS256 with 3072 bits a few milliseconds. */
const SIGNING_BUCKETS = [1e-4, 2.5e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]

/** Registers the metrics of tokens (contract 8.4). */
export function tokenMetrics({ counter, histogram }: Instruments<MetricName>): TokenMetrics {
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

/**
 * Counts the tokens by status; an overdue one still is issued there after its expiry. Yields to the event loop; tokens that change meanwhile may count with their former
 * state.
 */
export async function countTokens(
  tokens: Store<TokenObject>,
  nowMs: number,
  eventLoop: EventLoopShare,
): Promise<ObjectCounts> {
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
