// What becomes of a session as time and its surroundings change (contract 25.4, 25.7). Pure. The process may not read keys, so it
// gives an old session to its key: the garbage collector of Kubernetes then deletes it as soon as the key is gone.
import type { SignInSession } from './session.ts'

/** How long a session is kept whatever becomes of its key, so that its attempt makes one session. */
const KEPT_MS = 600_000

/** A session, with what decides about it. */
interface SweptSession {
  readonly session: SignInSession
  /** Whether its key owns the Secret. */
  readonly isOwned: boolean
  /** SHA-256 in hex of the hash of the user's password now; null = the user has none. */
  readonly passwordDigest: string | null
  /** Whether its User still is the person of the session. */
  readonly isNamed: boolean
  /** Whether its provider, or the password, is in the settings. */
  readonly isSetUp: boolean
}

/** Why the person of a session is gone without a word of the provider. */
export type SessionEndReason = 'passwordChanged' | 'identityLeft' | 'providerRemoved'

/** What is done about a session now. */
export type SessionStep =
  | { readonly kind: 'keep' }
  /** Its key becomes the owner of the Secret. */
  | { readonly kind: 'giveToKey'; readonly keyUid: string }
  /** Since when its provider has been removed is stored; null = it is back. */
  | { readonly kind: 'noteRemoved'; readonly removedMs: number | null }
  /** Its key is refused for good, and nothing of it is refreshed any more. */
  | { readonly kind: 'gone'; readonly because: SessionEndReason; readonly keyUid: string }
  /** It has no uid of a key: the Secret is deleted, and a key of its name. */
  | { readonly kind: 'discard'; readonly because: SessionEndReason | 'notTaken' }

/** @param graceMs how long a provider may be out of the settings; null = for ever */
export function sessionStep(
  swept: SweptSession,
  graceMs: number | null,
  nowMs: number,
): SessionStep {
  const { session, isOwned, isSetUp } = swept
  const { madeMs, keyUid, removedMs, endedMs } = session
  const because = endedMs === null ? endOf(swept, graceMs, nowMs) : null
  if (because !== null)
    return keyUid === null ? { kind: 'discard', because } : { kind: 'gone', because, keyUid }
  // A time ahead is of a clock that was wrong, and would keep the session until it has come.
  const isNoted = isSetUp ? removedMs === null : removedMs !== null && removedMs <= nowMs
  if (endedMs === null && graceMs !== null && !isNoted)
    return { kind: 'noteRemoved', removedMs: isSetUp ? null : nowMs }
  if (isOwned || nowMs - madeMs < KEPT_MS) return { kind: 'keep' }
  return keyUid === null ? { kind: 'discard', because: 'notTaken' } : { kind: 'giveToKey', keyUid }
}

function endOf(
  { session, passwordDigest, isNamed, isSetUp }: SweptSession,
  graceMs: number | null,
  nowMs: number,
): SessionEndReason | null {
  const { removedMs } = session
  if (session.passwordDigest !== null && session.passwordDigest !== passwordDigest)
    return 'passwordChanged'
  if (!isNamed) return 'identityLeft'
  const isOver = removedMs !== null && graceMs !== null && nowMs - removedMs >= graceMs
  return !isSetUp && isOver ? 'providerRemoved' : null
}
