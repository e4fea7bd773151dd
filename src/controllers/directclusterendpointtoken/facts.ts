// What the plan of a token knows: its state, the status that says so, and the record of its revocation.
import { REVOKE_FINALIZER } from '../../api/names.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import { type ReadyStateInput, type TokenReadyState, readyStateOf } from './ready-state.ts'
import { type RecordInput, type RecordNeed, recordNeedOf } from './record-need.ts'
import { deletionMsOf } from './retention.ts'
import { type DesiredTokenStatus, isPublished, statusOf } from './status.ts'

/** The input of the plan besides the token. */
export interface TokenPlanInput extends ReadyStateInput, RecordInput {
  /** How long an ended object stays, in milliseconds (`--expired-retention`). */
  readonly retentionMs: number
}

/** What the steps of a token read, computed once. */
export interface TokenFacts {
  readonly token: TokenObject
  readonly hasFinalizer: boolean
  readonly readyState: TokenReadyState
  readonly status: DesiredTokenStatus
  /** Whether `status` is published already. */
  readonly isPublished: boolean
  /** The record that an ended token needs; null = none, or it has not ended. */
  readonly record: RecordNeed | null
  /** TokenPlanInput.recordAskedForMs. */
  readonly recordAskedForMs: number | null
  /** When the object is deleted, in epoch milliseconds; null = it is kept, or has not ended. */
  readonly removalMs: number | null
  /** When to plan again without any event; null = only after a change. */
  readonly wakeMs: number | null
  readonly nowMs: number
}

/** The facts of a token at this moment. */
export function factsOf(token: TokenObject, input: TokenPlanInput): TokenFacts {
  const state = readyStateOf(token, input)
  const hasEnded = !('endMs' in state)
  // An expired token may need a record too: with a clock that was ahead it expired before its `exp`.
  const record = hasEnded ? recordNeedOf(token, input) : null
  const readyState = hasEnded ? { ...state, message: state.message + (record?.fault ?? '') } : state
  const status = statusOf(token, readyState, input)
  const removalMs =
    hasEnded && !token.isDeleting ? deletionMsOf(token, status.conditions, input) : null
  return {
    token,
    hasFinalizer: token.finalizers.includes(REVOKE_FINALIZER),
    readyState,
    status,
    isPublished: isPublished(status, state.reason === 'Issued', token.published),
    record,
    recordAskedForMs: input.recordAskedForMs,
    removalMs,
    wakeMs: hasEnded ? removalMs : state.endMs,
    nowMs: input.nowMs,
  }
}
