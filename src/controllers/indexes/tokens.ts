import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import {
  type ChainState,
  type ChainStatus,
  type KeyLookup,
  chainStatusOf,
} from '../../domain/accesskey/owner-chain.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { type TokenObject, issuingKeyUidOf } from '../../domain/token/token.ts'
import type { Indexers, Store } from '../../kube/informer/store.ts'

/** Name of the index of tokens by the uid in their owner reference. */
export const BY_OWNER = 'owner'

/** Name of the index of tokens by the uid of the access key that they were issued under. */
export const BY_ISSUED_UNDER = 'issued-under'

/** Name of the index of tokens by their own uid, which is the jti in revocation records. */
export const BY_UID = 'uid'

/** The indexes of the store of tokens. */
export const TOKEN_INDEXERS: Indexers<TokenObject> = {
  [BY_OWNER]: ({ ownerRef }) => ownerRef?.uid ?? null,
  [BY_ISSUED_UNDER]: issuingKeyUidOf,
  [BY_UID]: ({ uid }) => uid,
}

/** The expiry in a token's status, in epoch milliseconds; minus infinity = none is published yet. */
export const tokenEndMs = ({ published }: TokenObject): number =>
  parseTimestamp(published.expirationTimestamp) ?? Number.NEGATIVE_INFINITY

/** The access key in a token's owner reference, with the state of its owner chain. */
export interface Owner extends Omit<ChainStatus, 'scope'> {
  /** The key with its effective scope: its own, or that of the nearest owning key that has one. */
  readonly key: AccessKey
  /** Why tokens under the key end for good; null = they don't (contract 5.4). */
  readonly end: TokenEnd | null
}

/** The first state in the owner chain that ends tokens. */
export interface TokenEnd extends Pick<ChainStatus, 'above'> {
  readonly state: Exclude<ChainState, 'Active'>
}

/**
 * The access key in the token's owner reference, with the present state of its owner chain (contract 5.4, 10.3,
 * 12.3). null = there is no reference, or no known key has its name and uid.
 */
export function ownerOf(
  { ownerRef }: TokenObject,
  known: KeyLookup,
  caps: Caps,
  nowMs: number,
): Owner | null {
  const key = ownerRef ? known.named(ownerRef.name) : undefined
  if (!key || key.uid !== ownerRef?.uid) return null
  const chain = chainStatusOf(key, known, caps, nowMs)
  return {
    key: chain.scope === key.scope ? key : { ...key, scope: chain.scope },
    ...chain,
    end: tokenEndOf(key, chain, known, caps, nowMs),
  }
}

/**
 * A sign-in that its provider has not confirmed for a day ends no token, as it may confirm it again. But that state hides
 * others that do: they are found as if the sign-in had been confirmed.
 */
function tokenEndOf(
  key: AccessKey,
  { state, above }: ChainStatus,
  known: KeyLookup,
  caps: Caps,
  nowMs: number,
): TokenEnd | null {
  if (state === 'Active') return null
  if (state !== 'IdentityStale' && state !== 'SignInAgain') return { state, above }
  const named: KeyLookup['named'] = (name) => confirmed(known.named(name))
  const confirmedKey = confirmed(key)
  const chain = confirmedKey && chainStatusOf(confirmedKey, { ...known, named }, caps, nowMs)
  return chain === undefined || chain.state === 'Active'
    ? null
    : { state: chain.state, above: chain.above }
}

/** The key as if its sign-in had been confirmed just now, unless the person is gone. */
const confirmed = (key: AccessKey | undefined): AccessKey | undefined =>
  key && {
    ...key,
    refreshedMs: null,
    identityGone: key.identityGone === 'SignInAgain' ? null : key.identityGone,
  }

/** Names of the tokens whose owner is one of these keys, or that were issued under one (contract 5.4). */
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
 * The tokens that this process is issuing, from the read of the owner until the store has the answer to the status
 * write. Meanwhile the API server may have an issued token that the store lacks, so a deleted owner must wait
 * (contract 5.1).
 */
export class IssuesInProgress {
  /** Uid of the owner by the name of the token. A token is reconciled by one worker at a time. */
  readonly #owners = new Map<string, string | null>()

  /** Call it before the owner is read. */
  begin({ name, ownerRef }: TokenObject): void {
    this.#owners.set(name, ownerRef?.uid ?? null)
  }

  /** Call it when the store has the answer to the status write, or no write was sent. */
  end(name: string): void {
    this.#owners.delete(name)
  }

  /** Whether the token is being issued, or its last issue failed but may have been stored. */
  has(name: string): boolean {
    return this.#owners.has(name)
  }

  /** Whether a token is being issued under the access key with that uid. A scan: there is at most one per worker. */
  hasAnyUnder(keyUid: string): boolean {
    return [...this.#owners.values()].includes(keyUid)
  }
}
