import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { type KeyLookup, chainStatusOf } from '../../domain/accesskey/owner-chain.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { type TokenObject, issuingKeyUidOf } from '../../domain/token/token.ts'
import type { Indexers, Store } from '../../kube/informer/store.ts'
import type { Owner } from './ready-state.ts'

/** Index of tokens by the uid of the access key that their reference names. */
export const BY_OWNER = 'owner'

/** Index of tokens by the uid of the access key that they were issued under. */
export const BY_ISSUED_UNDER = 'issued-under'

/** Index of tokens by their own uid, which is the id of the revoked. */
export const BY_UID = 'uid'

/** The indexes that the controllers need of their store. */
export const TOKEN_INDEXERS: Indexers<TokenObject> = {
  [BY_OWNER]: ({ ownerRef }) => ownerRef?.uid ?? null,
  [BY_ISSUED_UNDER]: issuingKeyUidOf,
  [BY_UID]: ({ uid }) => uid,
}

/** When a token ends by its status, in epoch milliseconds; minus infinity = it has none yet. */
export const tokenEndMs = ({ published }: TokenObject): number =>
  parseTimestamp(published.expirationTimestamp) ?? Number.NEGATIVE_INFINITY

/**
 * The access key that the token's reference names, as it and those that own it are now; null = the
 * reference names none (contract 5.4). A key is worth no more than one that owns it (10.3, 12.3).
 */
export function ownerOf(
  { ownerRef }: TokenObject,
  known: KeyLookup,
  caps: Caps,
  nowMs: number,
): Owner | null {
  const own = ownerRef ? known.named(ownerRef.name) : undefined
  if (!own || own.uid !== ownerRef?.uid) return null
  const standing = chainStatusOf(own, known, caps, nowMs)
  return {
    key: standing.scope === own.scope ? own : { ...own, scope: standing.scope },
    ...standing,
  }
}

/** Names of the tokens that these keys own, or that were issued under them (contract 5.4). */
export function namesUnder(
  keys: readonly AccessKey[],
  tokens: Store<TokenObject>,
): readonly string[] {
  const owned = keys.flatMap(({ uid }) => [
    ...tokens.by(BY_OWNER, uid),
    ...tokens.by(BY_ISSUED_UNDER, uid),
  ])
  return [...new Set(owned.map(({ name }) => name))]
}

/**
 * The tokens that this process is issuing: from the decision, which reads the owner, until the store has the
 * answer to the status write. In between the API server may show a token under its owner, and the store does
 * not: a key that is deleted then must wait (contract 5.1).
 */
export class IssuesInProgress {
  /** Uid of the owner by name of the token: a name is reconciled by one worker at a time. */
  readonly #owners = new Map<string, string | null>()

  begin({ name, ownerRef }: TokenObject): void {
    this.#owners.set(name, ownerRef?.uid ?? null)
  }

  /** The store has the answer, or there is none to come. */
  end(name: string): void {
    this.#owners.delete(name)
  }

  /** Whether the token of that name is being issued, or its last issue failed and may be stored all the same. */
  has(name: string): boolean {
    return this.#owners.has(name)
  }

  /** Whether a token is being issued under the access key with that uid. At most one per worker is in progress. */
  hasAnyUnder(keyUid: string): boolean {
    return [...this.#owners.values()].includes(keyUid)
  }
}
