// An index of the tokens by their owner, with the fields that counting needs (contract 12.2).
import type { DirectClusterEndpointToken } from '../api/directclusterendpointtoken.gen.ts'
import type { KubeObject } from '../api/objects.ts'
import { type KeyRef, owningKeyOf } from '../domain/credential-object.ts'
import { isAppliedByGitOps, onExpiryOf } from '../domain/credential-object.ts'
import { parseTimestamp } from '../domain/time.ts'
import { type CachedObject, Store } from '../kube/informer/store.ts'
import type { KeyIndex } from './key-index.ts'

/** The fields of a token that counting needs. */
interface CountedToken extends CachedObject {
  readonly ownerRef: KeyRef | null
  /** Its exp in epoch milliseconds; null = it is not issued. */
  readonly expiresMs: number | null
  /** A GitOps tool would create it again, or an annotation keeps it. */
  readonly isKept: boolean
}

/** The tokens of the platform by their owners, as the watch delivers them. */
export interface TokenIndex {
  /** A watch keeps it equal to the tokens of the API server. */
  readonly store: Store<CountedToken>
  /** The tokens that keys of this identity own, deleted keys included. */
  readonly ownedByIdentity: (identity: string) => readonly CountedToken[]
  /** How many more were deleted before their exp and have not reached it at that time, epoch milliseconds. */
  readonly countDeleted: (identity: string, nowMs: number) => number
}

const BY_OWNER = 'owner'

/** Creates an empty index. @param nowMs epoch milliseconds, to drop deleted tokens past their exp */
export function createTokenIndex(keys: KeyIndex, nowMs: () => number): TokenIndex {
  const store = new Store(countedOf, { [BY_OWNER]: ({ ownerRef }) => ownerRef && ownerRef.uid })
  /** Identities of deleted keys that still own tokens, by uid. */
  const deletedOwners = new Map<string, string>()
  /** When deleted tokens end, by identity. */
  const deletedEnds = new Map<string, number[]>()
  keys.store.subscribe(({ before, after }) => {
    if (!before || before.uid === after?.uid || before.identity === null) return
    if (store.by(BY_OWNER, before.uid).length > 0) deletedOwners.set(before.uid, before.identity)
  })
  store.subscribe(({ before, after }) => {
    const owner = before?.ownerRef
    if (!before || !owner || before.uid === after?.uid) return
    const key = keys.named(owner.name)
    const identity = key?.uid === owner.uid ? key.identity : (deletedOwners.get(owner.uid) ?? null)
    if (store.by(BY_OWNER, owner.uid).length === 0) deletedOwners.delete(owner.uid)
    if (identity === null || before.expiresMs === null || before.expiresMs <= nowMs()) return
    const ends = deletedEnds.get(identity) ?? []
    ends.push(before.expiresMs)
    // Dropped now and then, not for each of a hundred thousand deletes at once.
    const isPowerOfTwo = (ends.length & (ends.length - 1)) === 0
    deletedEnds.set(identity, isPowerOfTwo ? notEnded(ends, nowMs()) : ends)
  })
  const ownerUids = (identity: string): readonly string[] => [
    ...keys.withIdentity(identity).map(({ uid }) => uid),
    ...[...deletedOwners].filter(([, owner]) => owner === identity).map(([uid]) => uid),
  ]
  return {
    store,
    ownedByIdentity: (identity) => ownerUids(identity).flatMap((uid) => store.by(BY_OWNER, uid)),
    countDeleted: (identity, now) => notEnded(deletedEnds.get(identity), now).length,
  }
}

const notEnded = (ends: readonly number[] = [], nowMs: number): number[] =>
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
