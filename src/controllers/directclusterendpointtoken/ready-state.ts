// The state of a token, as the reason of its Ready condition (contract 4.2, 5.4).
import { findCondition } from '../../domain/conditions.ts'
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'
import { type EndedState, TERMINATING, expired, revoked } from './ended-state.ts'
import { type IssuableInput, type IssuableState, issuableStateOf } from './issuable-state.ts'
import { type IssuedInput, type IssuedState, RECORDED, issuedStateOf } from './issued-state.ts'
import { RECORD_WAITS } from './record-need.ts'

/** The facts besides the token itself that decide on its state. */
export interface ReadyStateInput extends IssuableInput, IssuedInput {}

/** The state of a token. `endMs` is when it ends without any event, in epoch milliseconds; null = never. */
export type TokenReadyState = IssuableState | IssuedState | EndedState

/**
 * The present state of a token. An issued token can only end, as its claims can't change; an ended one stays ended,
 * even if its owner becomes valid again (contract 2.5, 5.4).
 */
export function readyStateOf(token: TokenObject, input: ReadyStateInput): TokenReadyState {
  if (token.isDeleting) return TERMINATING
  const expiresMs = issuedTokenEndMs(token)
  const previousReady = findCondition(token.published.conditions, 'Ready')
  if (previousReady?.reason === 'Expired' || previousReady?.reason === 'Revoked') {
    const [message = ''] = previousReady.message.split(RECORD_WAITS)
    return { reason: previousReady.reason, message }
  }
  if (expiresMs === null)
    return input.isRecorded ? revoked(RECORDED) : issuableStateOf(token, input)
  if (expiresMs <= input.nowMs) return expired(expiresMs)
  return issuedStateOf(token, input)
}
