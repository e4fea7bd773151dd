import type { EventReason } from '../../api/reasons.ts'
import { findCondition } from '../../domain/conditions.ts'
import type { TokenClaims } from '../../domain/token/token-claims.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import { type TokenFacts, type TokenPlanInput, factsOf } from './facts.ts'
import type { TokenReadyState } from './ready-state.ts'
import type { DesiredTokenStatus } from './status.ts'

/** A change of a token that an event reports. */
export type TokenTransition = TransitionEvent<
  Extract<EventReason, 'TokenIssued' | 'Expired' | 'Revoked' | 'ScopeExceedsOwner'>
>

/** The next step for a token. `wakeMs` is the time of the next reconcile; null = only after a change. */
export type TokenStep =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly wakeMs: number }
  | { readonly kind: 'adopt' }
  | {
      readonly kind: 'issue'
      readonly claims: TokenClaims
      readonly status: DesiredTokenStatus
      readonly announce: readonly TokenTransition[]
    }
  | { readonly kind: 'record'; readonly expiresMs: number; readonly wakeMs: number }
  | {
      readonly kind: 'publish'
      readonly status: DesiredTokenStatus
      /** Whether the token stays in status; else it is removed from it. */
      readonly keepsToken: boolean
      readonly announce: readonly TokenTransition[]
      readonly wakeMs: number | null
    }
  | { readonly kind: 'delete' }
  | { readonly kind: 'release' }

/**
 * The next step for a token (contract 2.4, 4.2, 5.1, 5.4, 7.4): the first that answers. A token that ends before its
 * `exp` is recorded as revoked before its status says so, and before our finalizer is removed.
 */
export function plan(token: TokenObject, input: TokenPlanInput): TokenStep {
  const facts = factsOf(token, input)
  for (const step of token.isDeleting ? DELETION_STEPS : STEPS) {
    const answer = step(facts)
    if (answer !== null) return answer
  }
  return { kind: 'nothing' }
}

/** One step: null = it does not apply. */
type TokenPlanStep = (facts: TokenFacts) => TokenStep | null

/** The steps of a token that is not being deleted. */
const STEPS: readonly TokenPlanStep[] = [
  adopt,
  recordRevocation,
  awaitOwner,
  issue,
  publishStatus,
  retryRecord,
  deleteEnded,
  awaitChange,
]

/** The steps of a token that is being deleted. */
const DELETION_STEPS: readonly TokenPlanStep[] = [
  recordRevocation,
  publishTerminating,
  retryRecord,
  release,
]

function adopt({ hasFinalizer }: TokenFacts): TokenStep | null {
  return hasFinalizer ? null : { kind: 'adopt' }
}

/**
 * Requests the record first, a step that reads the owner from the API server. If records can't be stored, status says
 * so and no longer holds the token.
 */
function recordRevocation(facts: TokenFacts): TokenStep | null {
  return hasRecordFault(facts) ? null : retryRecord(facts)
}

const hasRecordFault = ({ record }: TokenFacts): boolean => record !== null && record.fault !== null

/** A signal enqueues the token once the record is stored; besides, the token is requeued with a doubling delay. */
function retryRecord({ record, recordAskedForMs, nowMs }: TokenFacts): TokenStep | null {
  if (record === null) return null
  const afterMs = Math.max(recordAskedForMs ?? 0, REQUEUE_AFTER_MS)
  const wakeMs = nowMs + Math.min(afterMs, LONGEST_REQUEUE_MS)
  return { kind: 'record', expiresMs: record.untilMs, wakeMs }
}

const REQUEUE_AFTER_MS = 1000
const LONGEST_REQUEUE_MS = 60_000

function awaitOwner({ readyState }: TokenFacts): TokenStep | null {
  if (readyState.reason !== 'Pending' || readyState.endMs === null) return null
  return { kind: 'wait', wakeMs: readyState.endMs }
}

function issue(facts: TokenFacts): TokenStep | null {
  const { readyState, status } = facts
  if (readyState.reason !== 'Issued' || readyState.issue === null) return null
  const { claims } = readyState.issue
  return { kind: 'issue', claims, status, announce: transitionsOf(facts) }
}

function publishStatus(facts: TokenFacts): TokenStep | null {
  const { readyState, status, isPublished, wakeMs } = facts
  if (isPublished) return null
  const keepsToken = readyState.reason === 'Issued'
  return { kind: 'publish', status, keepsToken, announce: transitionsOf(facts), wakeMs }
}

function deleteEnded({ removalMs, nowMs }: TokenFacts): TokenStep | null {
  return removalMs !== null && nowMs >= removalMs ? { kind: 'delete' } : null
}

function awaitChange({ wakeMs }: TokenFacts): TokenStep | null {
  return wakeMs === null ? null : { kind: 'wait', wakeMs }
}

/** A status for people who wait: the record fails, or another finalizer holds the object. */
function publishTerminating(facts: TokenFacts): TokenStep | null {
  const { token, hasFinalizer } = facts
  const isOnlyOurs = token.finalizers.length === (hasFinalizer ? 1 : 0)
  return isOnlyOurs && !hasRecordFault(facts) ? null : publishStatus(facts)
}

function release({ hasFinalizer }: TokenFacts): TokenStep | null {
  return hasFinalizer ? { kind: 'release' } : null
}

const EVENT_STATES = new Set<TokenReadyState['reason']>([
  'Issued',
  'Expired',
  'Revoked',
  'ScopeExceedsOwner',
])

function transitionsOf({ token, readyState, status }: TokenFacts): readonly TokenTransition[] {
  const { reason } = readyState
  const { conditions, expirationTimestamp = '' } = status
  const isNewState = findCondition(token.published.conditions, 'Ready')?.reason !== reason
  if (!isNewState || !EVENT_STATES.has(reason)) return []
  const note = findCondition(conditions, 'Ready')?.message ?? ''
  const eventReason = reason === 'Issued' ? 'TokenIssued' : (reason as TokenTransition['reason'])
  return [
    {
      reason: eventReason,
      note,
      discriminator: reason === 'ScopeExceedsOwner' ? note : expirationTimestamp,
    },
  ]
}
