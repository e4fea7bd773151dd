// When a session goes (contract 25.4). Pure. The process may not read keys, so it gives an old session to its key: the garbage
// collector of Kubernetes then deletes it as soon as the key is gone.
import type { SignInSession } from './session.ts'

/** How long a session is kept whatever becomes of its key, so that its attempt makes one session. */
const KEPT_MS = 600_000

/** A session with what decides about it. */
interface SweptSession {
  readonly session: SignInSession
  /** Whether its key owns the Secret. */
  readonly isOwned: boolean
}

/** What is done about a session now. */
export type SessionStep =
  | { readonly kind: 'keep' }
  /** Its key becomes the owner of the Secret. */
  | { readonly kind: 'giveToKey'; readonly keyUid: string }
  /** Its key is ended, if there is one. The Secret follows it, or is deleted where the key is not known. */
  | { readonly kind: 'end'; readonly reason: 'passwordChanged' | 'notTaken' }

/**
 * The step for a session.
 *
 * @param passwordDigest SHA-256 in hex of the hash of the user's password now; null = the user has none
 */
export function sessionStep(
  { session, isOwned }: SweptSession,
  passwordDigest: string | null,
  nowMs: number,
): SessionStep {
  const { madeMs, keyUid } = session
  if (session.passwordDigest !== null && session.passwordDigest !== passwordDigest)
    return { kind: 'end', reason: 'passwordChanged' }
  if (isOwned || nowMs - madeMs < KEPT_MS) return { kind: 'keep' }
  return keyUid === null ? { kind: 'end', reason: 'notTaken' } : { kind: 'giveToKey', keyUid }
}
