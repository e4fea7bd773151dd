import { type EventReason, REVOKE_FINALIZER } from '../../api/names.ts'
import { findCondition } from '../../domain/conditions.ts'
import type { TokenClaims } from '../../domain/token/token-claims.ts'
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import { deletionMsOf } from './lifetime.ts'
import {
  type EndedState,
  type TokenCircumstances,
  type TokenReadyState,
  readyStateOf,
  unrecordedMessage,
} from './ready-state.ts'
import { type DesiredTokenStatus, isPublished, statusOf, terminatingStatus } from './status.ts'

/** The input of the plan besides the token. */
export interface TokenPlanCircumstances extends TokenCircumstances {
  /** How long an ended object stays, in milliseconds (`--expired-retention`). */
  readonly retentionMs: number
  /** Why revocations could not be recorded the last time; null = they could. */
  readonly recordFault: string | null
  /** How long the token's record has been asked for, in milliseconds; null = it is not, or is stored. */
  readonly recordAskedForMs: number | null
}

/** A change of a token that an event reports. */
export type TokenTransition = TransitionEvent<
  Extract<EventReason, 'TokenIssued' | 'Expired' | 'Revoked' | 'ScopeExceedsOwner'>
>

/** The next step for a token. `wakeMs` is when to look again; null = when something changes. */
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
      /** Whether the token stays in status; else it is taken out. */
      readonly keepsToken: boolean
      readonly announce: readonly TokenTransition[]
      readonly wakeMs: number | null
    }
  | { readonly kind: 'delete' }
  | { readonly kind: 'release' }

/**
 * What a token needs next (contract 2.4, 4.2, 5.1, 5.4, 7.4). One that ends before its time is
 * recorded as revoked before status says so, and before our finalizer goes.
 */
export function plan(token: TokenObject, circumstances: TokenPlanCircumstances): TokenStep {
  const isHeld = token.finalizers.includes(REVOKE_FINALIZER)
  if (token.isDeleting) return planDeletion(token, isHeld, circumstances)
  if (!isHeld) return { kind: 'adopt' }
  const fate = readyStateOf(token, circumstances)
  // A clock that was ahead has ended it too early, and its exp is yet to come.
  if (fate.reason === 'Revoked' || fate.reason === 'Expired') {
    const expiresMs = unrecordedUntilMs(token, circumstances)
    if (expiresMs !== null) return planRecord(token, fate, expiresMs, circumstances)
  }
  return planPublication(token, fate, circumstances)
}

/**
 * It is asked for first, as that takes the keys as they are now. Where it can't be stored status says so,
 * and the token leaves status.
 */
function planRecord(
  token: TokenObject,
  fate: EndedState,
  expiresMs: number,
  circumstances: TokenPlanCircumstances,
): TokenStep {
  const { recordFault, recordAskedForMs } = circumstances
  const record = recordStep(expiresMs, circumstances)
  if (recordFault === null || recordAskedForMs === null) return record
  const unrecorded = { ...fate, message: unrecordedMessage(fate.message, recordFault) }
  const published = planPublication(token, unrecorded, circumstances)
  return published.kind === 'publish' ? published : record
}

const LOOK_AGAIN_AFTER_MS = 1000
const LOOK_AGAIN_WITHIN_MS = 60_000

/** Its being stored brings the token back; it is looked after besides, each time after twice as long. */
function recordStep(
  expiresMs: number,
  { recordAskedForMs, nowMs }: TokenPlanCircumstances,
): Extract<TokenStep, { kind: 'record' }> {
  const afterMs = Math.max(recordAskedForMs ?? 0, LOOK_AGAIN_AFTER_MS)
  return { kind: 'record', expiresMs, wakeMs: nowMs + Math.min(afterMs, LOOK_AGAIN_WITHIN_MS) }
}

function planDeletion(
  token: TokenObject,
  isHeld: boolean,
  circumstances: TokenPlanCircumstances,
): TokenStep {
  const { recordFault, nowMs } = circumstances
  const expiresMs = unrecordedUntilMs(token, circumstances)
  const fault = expiresMs === null ? null : recordFault
  if (expiresMs !== null && fault === null) return recordStep(expiresMs, circumstances)
  const isAlone = token.finalizers.length === (isHeld ? 1 : 0)
  if (fault !== null || !isAlone) {
    const status = terminatingStatus(token, fault, nowMs)
    if (!isPublished(status, false, token.published))
      return { kind: 'publish', status, keepsToken: false, announce: [], wakeMs: null }
  }
  if (expiresMs !== null) return recordStep(expiresMs, circumstances)
  return isHeld ? { kind: 'release' } : { kind: 'nothing' }
}

/** Until when its record is needed that is not stored yet; null = it needs none. */
function unrecordedUntilMs(
  token: TokenObject,
  { isRecorded, nowMs }: TokenPlanCircumstances,
): number | null {
  const outMs = issuedTokenEndMs(token)
  return outMs === null || outMs <= nowMs || isRecorded ? null : outMs
}

function planPublication(
  token: TokenObject,
  fate: TokenReadyState,
  circumstances: TokenPlanCircumstances,
): TokenStep {
  if (fate.reason === 'Pending' && fate.endMs !== null) return { kind: 'wait', wakeMs: fate.endMs }
  const { nowMs } = circumstances
  const status = statusOf(token, fate, circumstances)
  const announce = announcementOf(token, fate, status)
  if (fate.reason === 'Issued' && fate.issue !== null)
    return { kind: 'issue', claims: fate.issue.claims, status, announce }
  const keepsToken = fate.reason === 'Issued'
  const hasEnded = !('endMs' in fate)
  const removalMs = hasEnded ? deletionMsOf(token, status.conditions, circumstances) : null
  const wakeMs = hasEnded ? removalMs : fate.endMs
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

function announcementOf(
  token: TokenObject,
  { reason }: TokenReadyState,
  { conditions, expirationTimestamp = '' }: DesiredTokenStatus,
): readonly TokenTransition[] {
  const isNew = findCondition(token.published.conditions, 'Ready')?.reason !== reason
  if (!isNew || !EVENT_STATES.has(reason)) return []
  const note = findCondition(conditions, 'Ready')?.message ?? ''
  const eventReason = reason === 'Issued' ? 'TokenIssued' : (reason as TokenTransition['reason'])
  return [
    { reason: eventReason, note, of: reason === 'ScopeExceedsOwner' ? note : expirationTimestamp },
  ]
}
