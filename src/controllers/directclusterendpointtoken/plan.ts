import { type EventReason, REVOKE_FINALIZER } from '../../api/names.ts'
import { findCondition } from '../../domain/conditions.ts'
import type { TokenClaims } from '../../domain/token/token-claims.ts'
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import { deletionMsOf } from './lifetime.ts'
import {
  type EndedState,
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
 * The next step for a token (contract 2.4, 4.2, 5.1, 5.4, 7.4). A token that ends before its `exp` is recorded as
 * revoked before its status says so, and before our finalizer is removed.
 */
export function plan(token: TokenObject, input: TokenPlanInput): TokenStep {
  const hasFinalizer = token.finalizers.includes(REVOKE_FINALIZER)
  if (token.isDeleting) return planDeletion(token, hasFinalizer, input)
  if (!hasFinalizer) return { kind: 'adopt' }
  const readyState = readyStateOf(token, input)
  // An expired token may need a record too: with a clock that was ahead it expired before its `exp`.
  if (readyState.reason === 'Revoked' || readyState.reason === 'Expired') {
    const expiresMs = unrecordedUntilMs(token, input)
    if (expiresMs !== null) return planRecord(token, readyState, expiresMs, input)
  }
  return planPublication(token, readyState, input)
}

/**
 * Requests the record first, a step that reads the owner from the API server. If records can't be stored, status says
 * so and no longer holds the token.
 */
function planRecord(
  token: TokenObject,
  readyState: EndedState,
  expiresMs: number,
  input: TokenPlanInput,
): TokenStep {
  const { recordFault, recordAskedForMs } = input
  const record = recordStep(expiresMs, input)
  if (recordFault === null || recordAskedForMs === null) return record
  const unrecorded = { ...readyState, message: unrecordedMessage(readyState.message, recordFault) }
  const published = planPublication(token, unrecorded, input)
  return published.kind === 'publish' ? published : record
}

const REQUEUE_AFTER_MS = 1000
const LONGEST_REQUEUE_MS = 60_000

/** A signal enqueues the token once the record is stored; besides, the token is requeued with a doubling delay. */
function recordStep(
  expiresMs: number,
  { recordAskedForMs, nowMs }: TokenPlanInput,
): Extract<TokenStep, { kind: 'record' }> {
  const afterMs = Math.max(recordAskedForMs ?? 0, REQUEUE_AFTER_MS)
  return { kind: 'record', expiresMs, wakeMs: nowMs + Math.min(afterMs, LONGEST_REQUEUE_MS) }
}

function planDeletion(token: TokenObject, hasFinalizer: boolean, input: TokenPlanInput): TokenStep {
  const { recordFault, nowMs } = input
  const expiresMs = unrecordedUntilMs(token, input)
  const fault = expiresMs === null ? null : recordFault
  if (expiresMs !== null && fault === null) return recordStep(expiresMs, input)
  const isOnlyOurs = token.finalizers.length === (hasFinalizer ? 1 : 0)
  if (fault !== null || !isOnlyOurs) {
    const status = terminatingStatus(token, fault, nowMs)
    if (!isPublished(status, false, token.published))
      return { kind: 'publish', status, keepsToken: false, announce: [], wakeMs: null }
  }
  if (expiresMs !== null) return recordStep(expiresMs, input)
  return hasFinalizer ? { kind: 'release' } : { kind: 'nothing' }
}

/** The expiry of a live token whose record is not stored, in epoch milliseconds; null = no record is needed. */
function unrecordedUntilMs(
  token: TokenObject,
  { isRecorded, nowMs }: TokenPlanInput,
): number | null {
  const expiresMs = issuedTokenEndMs(token)
  return expiresMs === null || expiresMs <= nowMs || isRecorded ? null : expiresMs
}

function planPublication(
  token: TokenObject,
  readyState: TokenReadyState,
  input: TokenPlanInput,
): TokenStep {
  if (readyState.reason === 'Pending' && readyState.endMs !== null)
    return { kind: 'wait', wakeMs: readyState.endMs }
  const { nowMs } = input
  const status = statusOf(token, readyState, input)
  const announce = transitionsOf(token, readyState, status)
  if (readyState.reason === 'Issued' && readyState.issue !== null)
    return { kind: 'issue', claims: readyState.issue.claims, status, announce }
  const keepsToken = readyState.reason === 'Issued'
  const hasEnded = !('endMs' in readyState)
  const removalMs = hasEnded ? deletionMsOf(token, status.conditions, input) : null
  const wakeMs = hasEnded ? removalMs : readyState.endMs
  if (!isPublished(status, keepsToken, token.published))
    return { kind: 'publish', status, keepsToken, announce, wakeMs }
  if (removalMs !== null && nowMs >= removalMs) return { kind: 'delete' }
  return wakeMs === null ? { kind: 'nothing' } : { kind: 'wait', wakeMs }
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
