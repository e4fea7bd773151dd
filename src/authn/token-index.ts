// An index of the tokens by their owner, with the fields that counting needs (contract 12.2).
import type { DirectClusterEndpointToken } from '../api/directclusterendpointtoken.gen.ts'
import type { KubeObject } from '../api/objects.ts'
import { type KeyRef, owningKeyOf } from '../domain/credential-object.ts'
import { isAppliedByGitOps, onExpiryOf } from '../domain/credential-object.ts'
import { parseTimestamp } from '../domain/time.ts'
import { type CachedObject, Store } from '../kube/informer/store.ts'
import type { KeyIndex } from './key-index.ts'

/** The fields of a token that counting needs. */
export interface CountedToken extends CachedObject {
  readonly ownerRef: KeyRef | null
  /** Its exp in epoch milliseconds; null = it is not issued. */
  readonly expiresMs: number | null
  /** A GitOps tool would create it again, or an annotation keeps it. */
  readonly isKept: boolean
}

/** The tokens of the platform, as the watch delivers them. */
export interface TokenIndex {
  /** A watch keeps it equal to the tokens of the API server. */
  readonly store: Store<CountedToken>
  /** The tokens that keys of this identity own, deleted keys included. */
  readonly of: (identity: string) => readonly CountedToken[]
  /** How many of them the watch showed deleted before their exp, and have not reached it. */
  readonly deletedOf: (identity: string, nowMs: number) => number
}

const BY_OWNER = 'owner'

/** Creates an empty index. @param nowMs epoch milliseconds, to drop deleted tokens past their exp */
export function createTokenIndex(keys: KeyIndex, nowMs: () => number): TokenIndex {
  const store = new Store(countedOf, { [BY_OWNER]: ({ ownerRef }) => ownerRef && ownerRef.uid })
  /** Identities of deleted keys that still own tokens, by uid. */
  const gone = new Map<string, string>()
  /** Ends of deleted tokens, by identity. */
  const deleted = new Map<string, number[]>()
  keys.store.subscribe(({ before, after }) => {
    if (!before || before.uid === after?.uid || before.identity === null) return
    if (store.by(BY_OWNER, before.uid).length > 0) gone.set(before.uid, before.identity)
  })
  store.subscribe(({ before, after }) => {
    const owner = before?.ownerRef
    if (!before || !owner || before.uid === after?.uid) return
    const key = keys.named(owner.name)
    const identity = key?.uid === owner.uid ? key.identity : (gone.get(owner.uid) ?? null)
    if (store.by(BY_OWNER, owner.uid).length === 0) gone.delete(owner.uid)
    if (identity === null || before.expiresMs === null || before.expiresMs <= nowMs()) return
    const ends = deleted.get(identity) ?? []
    ends.push(before.expiresMs)
    // Dropped now and then, not for each of a hundred thousand deletes at once.
    const isPowerOfTwo = (ends.length & (ends.length - 1)) === 0
    deleted.set(identity, isPowerOfTwo ? stillOut(ends, nowMs()) : ends)
  })
  const owners = (identity: string): readonly string[] => [
    ...keys.of(identity).map(({ uid }) => uid),
    ...[...gone].filter(([, whose]) => whose === identity).map(([uid]) => uid),
  ]
  return {
    store,
    of: (identity) => owners(identity).flatMap((uid) => store.by(BY_OWNER, uid)),
    deletedOf: (identity, now) => stillOut(deleted.get(identity), now).length,
  }
}

const stillOut = (ends: readonly number[] = [], nowMs: number): number[] =>
  ends.filter((endMs) => endMs > nowMs)

function countedOf(object: KubeObject): CountedToken {
  const { metadata, status = {} } = object as DirectClusterEndpointToken
  const { name, uid, resourceVersion } = metadata
  return {
    name,
    uid,
    resourceVersion,
    ownerRef: owningKeyOf(metadata),
    expiresMs: parseTimestamp(status.expirationTimestamp),
    isKept: isAppliedByGitOps(metadata) || onExpiryOf(metadata) === 'Keep',
  }
}
