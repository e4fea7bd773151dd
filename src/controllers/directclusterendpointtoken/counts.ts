import { conditionOf } from '../../domain/conditions.ts'
import type { Token } from '../../domain/token.ts'
import type { Store } from '../../kube/store.ts'

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

/** How many tokens are in each state, and how many are capped. */
export interface TokenCounts {
  readonly byState: Readonly<Record<string, number>>
  readonly capped: number
}

/** Counts the tokens as their status says. */
export function countTokens(tokens: Store<Token>): TokenCounts {
  const byState: Record<string, number> = {}
  let capped = 0
  for (const { isDeleting, published } of tokens.values()) {
    const reason = conditionOf(published.conditions, 'Ready')?.reason ?? ''
    const label = isDeleting ? 'terminating' : (LABELS[reason] ?? 'pending')
    byState[label] = (byState[label] ?? 0) + 1
    if (conditionOf(published.conditions, 'LifetimeCapped')) capped += 1
  }
  return { byState, capped }
}

/** The latest end among the tokens in status that a key signed; null = there is none. */
export function lastExpMs(tokens: Store<Token>, kid: string): number | null {
  let lastMs: number | null = null
  for (const { published } of tokens.values()) {
    const { issued, keyID } = published
    if (keyID !== kid || issued === null || issued === 'damaged') continue
    lastMs = Math.max(lastMs ?? issued.expiresMs, issued.expiresMs)
  }
  return lastMs
}
