// A credential that is being made and not delivered yet. The plaintext of a key is in this process alone, and in the Secret
// afterwards: after a crash the key is deleted and another is made (contract 28.3).
import type { Replacement } from '../../domain/claim/replacement.ts'
import type { KeyRef } from '../../domain/shared-metadata.ts'

/** A credential under way. */
export interface DeliveryAttempt extends Replacement {
  readonly startedMs: number
  readonly key: AttemptKey
  /** null = a key is delivered, or the token is not made yet. */
  readonly token: MadeObject | null
  /** When the watch has shown that the key works, in epoch milliseconds; null = it has not. */
  readonly readySinceMs: number | null
}

/** A key or token of an attempt. */
interface MadeObject extends KeyRef {
  /** Whether the watch has brought it: if it is missing then, it was deleted. */
  readonly isSeen: boolean
}

/** The key of an attempt. */
interface AttemptKey extends MadeObject {
  /** The key in clear, never to be logged; null = it was delivered before, and only its token is new. */
  readonly plaintext: string | null
}

/** uids of what was made for the attempt. */
export const uidsOf = ({ isTokenOnly, key, token }: DeliveryAttempt): ReadonlySet<string> =>
  new Set([...(isTokenOnly ? [] : [key.uid]), ...(token === null ? [] : [token.uid])])

/** How long gateways may take until they accept a key that is Ready (contract 10.3). */
export const ACCEPTED_AFTER_MS = 1000

/** After this time status says that an attempt is under way. A healthy one is over before, and is not worth two writes. */
export const SHOWN_AFTER_MS = 5000
