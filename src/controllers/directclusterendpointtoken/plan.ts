import { type EventReason, REVOKE_FINALIZER } from '../../api/names.ts'
import { findCondition } from '../../domain/conditions.ts'
import type { TokenClaims } from '../../domain/token/token-claims.ts'
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import { deletionMsOf } from './lifetime.ts'
import {
  type ReadyStateInput,
  type TokenReadyState,
  readyStateOf,
  unrecordedMessage,
} from './ready-state.ts'
import { type DesiredTokenStatus, isPublished, statusOf, terminatingStatus } from './status.ts'

/** The input of the plan besides the token. */
export interface TokenPlanInput extends ReadyStateInput {
  /** How long an ended object stays, in milliseconds (`--expired-retention`). */
  readonly retentionMs: number
  /** Why the last attempt to record revocations failed; null = it did not fail. */
  readonly recordFault: string | null
  /** Time since the record of this token was requested, in milliseconds; null = not requested, or stored already. */
  readonly recordAskedForMs: number | null
}

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
  return token.isDeleting
    ? firstAnswer(DELETION_STEPS, deletionFactsOf(token, input))
    : firstAnswer(STEPS, factsOf(token, input))
}

/** What both lists of steps read. */
interface CommonFacts {
  readonly token: TokenObject
  readonly input: TokenPlanInput
  readonly hasFinalizer: boolean
  /** The expiry of a live token whose record is not stored, in epoch milliseconds; null = no record is needed. */
  readonly unrecordedUntilMs: number | null
}

/** What the steps of a token read, computed once. */
interface TokenFacts extends CommonFacts {
  readonly readyState: TokenReadyState
  /** Whether the record was requested and can't be stored now. */
  readonly isRecordFailing: boolean
  readonly status: DesiredTokenStatus
  /** When the object is deleted, in epoch milliseconds; null = it is kept, or has not ended. */
  readonly removalMs: number | null
  /** When to plan again without any event; null = only after a change. */
  readonly wakeMs: number | null
}

/** One step: null = it does not apply. */
type TokenPlanStep<Facts> = (facts: Facts) => TokenStep | null

function firstAnswer<Facts>(steps: readonly TokenPlanStep<Facts>[], facts: Facts): TokenStep {
  for (const step of steps) {
    const answer = step(facts)
    if (answer !== null) return answer
  }
  return { kind: 'nothing' }
}

/** The steps of a token that is not being deleted. */
const STEPS: readonly TokenPlanStep<TokenFacts>[] = [
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
const DELETION_STEPS: readonly TokenPlanStep<DeletionFacts>[] = [
  recordDeletion,
  publishTerminating,
  retryRecord,
  release,
]

function factsOf(token: TokenObject, input: TokenPlanInput): TokenFacts {
  const common = commonFactsOf(token, input)
  const state = readyStateOf(token, input)
  // An expired token may need a record too: with a clock that was ahead it expired before its `exp`.
  const hasEnded = state.reason === 'Revoked' || state.reason === 'Expired'
  const unrecordedUntilMs = hasEnded ? common.unrecordedUntilMs : null
  const { recordFault, recordAskedForMs } = input
  const isRecordFailing =
    unrecordedUntilMs !== null && recordFault !== null && recordAskedForMs !== null
  const readyState: TokenReadyState =
    hasEnded && isRecordFailing
      ? { ...state, message: unrecordedMessage(state.message, recordFault) }
      : state
  const status = statusOf(token, readyState, input)
  const removalMs = hasEnded ? deletionMsOf(token, status.conditions, input) : null
  const wakeMs = 'endMs' in readyState ? readyState.endMs : removalMs
  return { ...common, unrecordedUntilMs, readyState, isRecordFailing, status, removalMs, wakeMs }
}

function commonFactsOf(token: TokenObject, input: TokenPlanInput): CommonFacts {
  const expiresMs = issuedTokenEndMs(token)
  const isCovered = expiresMs === null || expiresMs <= input.nowMs || input.isRecorded
  return {
    token,
    input,
    hasFinalizer: token.finalizers.includes(REVOKE_FINALIZER),
    unrecordedUntilMs: isCovered ? null : expiresMs,
  }
}

function adopt({ hasFinalizer }: TokenFacts): TokenStep | null {
  return hasFinalizer ? null : { kind: 'adopt' }
}

/**
 * Requests the record first, a step that reads the owner from the API server. If records can't be stored, status says
 * so and no longer holds the token.
 */
function recordRevocation(facts: TokenFacts): TokenStep | null {
  return facts.isRecordFailing ? null : retryRecord(facts)
}

/** A signal enqueues the token once the record is stored; besides, the token is requeued with a doubling delay. */
function retryRecord({ unrecordedUntilMs, input }: CommonFacts): TokenStep | null {
  if (unrecordedUntilMs === null) return null
  const afterMs = Math.max(input.recordAskedForMs ?? 0, REQUEUE_AFTER_MS)
  const wakeMs = input.nowMs + Math.min(afterMs, LONGEST_REQUEUE_MS)
  return { kind: 'record', expiresMs: unrecordedUntilMs, wakeMs }
}

const REQUEUE_AFTER_MS = 1000
const LONGEST_REQUEUE_MS = 60_000

function awaitOwner({ readyState }: TokenFacts): TokenStep | null {
  if (readyState.reason !== 'Pending' || readyState.endMs === null) return null
  return { kind: 'wait', wakeMs: readyState.endMs }
}

function issue({ token, readyState, status }: TokenFacts): TokenStep | null {
  if (readyState.reason !== 'Issued' || readyState.issue === null) return null
  const announce = transitionsOf(token, readyState, status)
  return { kind: 'issue', claims: readyState.issue.claims, status, announce }
}

function publishStatus({ token, readyState, status, wakeMs }: TokenFacts): TokenStep | null {
  const keepsToken = readyState.reason === 'Issued'
  if (isPublished(status, keepsToken, token.published)) return null
  const announce = transitionsOf(token, readyState, status)
  return { kind: 'publish', status, keepsToken, announce, wakeMs }
}

function deleteEnded({ removalMs, input }: TokenFacts): TokenStep | null {
  return removalMs !== null && input.nowMs >= removalMs ? { kind: 'delete' } : null
}

function awaitChange({ wakeMs }: TokenFacts): TokenStep | null {
  return wakeMs === null ? null : { kind: 'wait', wakeMs }
}

/** What the steps of a token that is being deleted read. */
interface DeletionFacts extends CommonFacts {
  /** Why its revocation can't be recorded; null = it is recorded, or need not be, or was not tried. */
  readonly fault: string | null
}

function deletionFactsOf(token: TokenObject, input: TokenPlanInput): DeletionFacts {
  const common = commonFactsOf(token, input)
  return { ...common, fault: common.unrecordedUntilMs === null ? null : input.recordFault }
}

function recordDeletion(facts: DeletionFacts): TokenStep | null {
  return facts.fault === null ? retryRecord(facts) : null
}

/** A status for people who wait: the record fails, or another finalizer holds the object. */
function publishTerminating(facts: DeletionFacts): TokenStep | null {
  const { token, hasFinalizer, fault, input } = facts
  const isOnlyOurs = token.finalizers.length === (hasFinalizer ? 1 : 0)
  if (fault === null && isOnlyOurs) return null
  const status = terminatingStatus(token, fault, input.nowMs)
  if (isPublished(status, false, token.published)) return null
  return { kind: 'publish', status, keepsToken: false, announce: [], wakeMs: null }
}

function release({ hasFinalizer }: DeletionFacts): TokenStep | null {
  return hasFinalizer ? { kind: 'release' } : null
}

const EVENT_STATES = new Set<TokenReadyState['reason']>([
  'Issued',
  'Expired',
  'Revoked',
  'ScopeExceedsOwner',
])

function transitionsOf(
  token: TokenObject,
  { reason }: TokenReadyState,
  { conditions, expirationTimestamp = '' }: DesiredTokenStatus,
): readonly TokenTransition[] {
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
