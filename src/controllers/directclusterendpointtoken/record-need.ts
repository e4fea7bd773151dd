// The record of a revocation that an ended token needs (contract 7.4), and what status says while it can't be stored.
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'

/** What decides whether the revocation of a token must be recorded. */
export interface RecordInput {
  /** Whether the token is recorded as revoked, and the record is stored (contract 7.4). */
  readonly isRecorded: boolean
  /** Why the last attempt to record revocations failed; null = it did not fail. */
  readonly recordFault: string | null
  /** Time since the record of this token was requested, in milliseconds; null = not requested, or stored already. */
  readonly recordAskedForMs: number | null
  readonly nowMs: number
}

/** The record that an ended token needs. */
export interface RecordNeed {
  /** The expiry of the token, in epoch milliseconds. */
  readonly untilMs: number
  /**
   * What follows the message of Ready while the record can't be stored: a sentence after a space; null = it was not
   * tried, or did not fail.
   */
  readonly fault: string | null
}

/** Begins the sentence about the record of a token that has ended. */
export const RECORD_WAITS = ' Clusters take it until its revocation is recorded, which failed: '
const DELETION_WAITS = ' It stays until its revocation is recorded, which failed: '

/** The record that a token needs if it has ended; null = it is recorded, was not issued, or has expired. */
export function recordNeedOf(
  token: TokenObject,
  { isRecorded, recordFault, recordAskedForMs, nowMs }: RecordInput,
): RecordNeed | null {
  const { isDeleting } = token
  const untilMs = issuedTokenEndMs(token)
  if (untilMs === null || untilMs <= nowMs || isRecorded) return null
  const wasTried = isDeleting || recordAskedForMs !== null
  if (recordFault === null || !wasTried) return { untilMs, fault: null }
  return { untilMs, fault: `${isDeleting ? DELETION_WAITS : RECORD_WAITS}${recordFault}.` }
}
