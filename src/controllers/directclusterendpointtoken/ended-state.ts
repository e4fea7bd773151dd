import { formatTimestamp } from '../../domain/time.ts'

/** The token has ended for good, or its object is being deleted. `message` is a sentence for the condition. */
export interface EndedState {
  readonly reason: 'Expired' | 'Revoked' | 'Terminating'
  readonly message: string
}

/** @param endMs the expiry of the token, in epoch milliseconds */
export const expired = (endMs: number): EndedState => ({
  reason: 'Expired',
  message: `The token expired ${formatTimestamp(endMs)}.`,
})

/** @param because the cause, as a clause */
export const revoked = (because: string): EndedState => ({
  reason: 'Revoked',
  message: `The token was revoked for good, because ${because}; make a new object for another token.`,
})

/** The state of every token whose object is being deleted. */
export const TERMINATING: EndedState = {
  reason: 'Terminating',
  message: 'The token is being deleted and is revoked.',
}
