import { conditionOf } from '../../domain/conditions.ts'
import { type Overdue, NOTHING_OVERDUE, addOverdue } from '../../domain/time/time.ts'
import type { Token } from '../../domain/token/token.ts'
import type { Store } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYielding } from '../../runtime/concurrency/event-loop.ts'

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
export interface TokenCounts {
  readonly byState: Readonly<Record<string, number>>
  readonly capped: number
  readonly overdue: Overdue
}

/** Counts the tokens as their status says, in many turns of the event loop: what changes meanwhile as it was. */
export async function countTokens(
  tokens: Store<Token>,
  nowMs: number,
  turns: EventLoopShare,
): Promise<TokenCounts> {
  const byState: Record<string, number> = {}
  let capped = 0
  let overdue = NOTHING_OVERDUE
  await forEachYielding(turns, [...tokens.values()], ({ isDeleting, published }) => {
    const reason = conditionOf(published.conditions, 'Ready')?.reason ?? ''
    const label = isDeleting ? 'terminating' : (LABELS[reason] ?? 'pending')
    byState[label] = (byState[label] ?? 0) + 1
    if (conditionOf(published.conditions, 'LifetimeCapped')) capped += 1
    const endMs = label === 'issued' ? outMs(published) : null
    if (endMs !== null && endMs <= nowMs) overdue = addOverdue(overdue, nowMs - endMs)
  })
  return { byState, capped, overdue }
}

/** When the token in status ends; null = there is none. */
const outMs = ({ issued }: Token['published']): number | null =>
  issued === null || issued === 'damaged' ? null : issued.expiresMs

/** The latest end among the tokens in status that a key signed; null = there is none. */
export function lastExpMs(tokens: Store<Token>, kid: string): number | null {
  let lastMs: number | null = null
  for (const { published } of tokens.values()) {
    const endMs = published.keyID === kid ? outMs(published) : null
    if (endMs !== null) lastMs = Math.max(lastMs ?? endMs, endMs)
  }
  return lastMs
}
