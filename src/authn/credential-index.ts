// An index of the keys by their secret, without the secrets (contract 10.3, threats C1 and C2).
import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto'
import type { DirectClusterEndpointToken } from '../api/directclusterendpointtoken.gen.ts'
import type { KubeObject } from '../api/objects.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  type PublishedKeyStatus,
  accessKeyOf,
  storedDigestOf,
} from '../domain/accesskey/access-key.ts'
import { isOlderKey } from '../domain/accesskey/key-state.ts'
import type { KeyLookup, KeyRelations } from '../domain/accesskey/owner-chain.ts'
import {
  type KeyRef,
  isAppliedByGitOps,
  onExpiryOf,
  owningKeyOf,
} from '../domain/credential-object.ts'
import { parseTimestamp } from '../domain/time.ts'
import { type CachedObject, Store } from '../kube/informer/store.ts'
import { UNKNOWN_KEY } from './key-validity.ts'

/** The access keys of the platform, as the watch delivers them. */
export interface KeyIndex extends KeyLookup, KeyRelations {
  /** A watch keeps it equal to the keys of the API server. */
  readonly store: Store<AccessKey>
  /** The eldest key with the secret that a caller presents; UNKNOWN_KEY where there is none. */
  readonly findBySecret: (token: string) => AccessKey
  /** The keys of one `user:<user>`, `team:<team>` or `subject:<subject>`. */
  readonly withIdentity: (identity: string) => readonly AccessKey[]
}

interface IndexedKey extends AccessKey {
  /** HMAC of its digest, by which the index finds it. Absent without a secret, and in keys from elsewhere. */
  readonly keyedDigest?: string
}

const BY_KEYED_DIGEST = 'keyedDigest'
const BY_OWNER = 'owner'
const BY_IDENTITY = 'identity'

/**
 * Creates an empty index. Its Map is keyed by an HMAC of a key's SHA-256: neither the tokens of callers nor
 * the digests that users store choose a place in it. Each key keeps its HMAC, so a request computes one: that
 * of the secret it presents.
 *
 * @param secret 32 random bytes of this process
 */
export function createKeyIndex(secret: Uint8Array): KeyIndex {
  const hmacKey = createSecretKey(secret)
  // One byte a character: base64 takes a third more memory for each key.
  const keyed = (digest: Buffer): string =>
    createHmac('sha256', hmacKey).update(digest).digest('binary')
  const keyedHex = (digest: string): string => keyed(Buffer.from(digest, 'hex'))
  const indexers = {
    [BY_KEYED_DIGEST]: ({ keyedDigest }: IndexedKey) => keyedDigest ?? null,
    [BY_OWNER]: ({ ownerRef }: AccessKey) => ownerRef && ownerRef.uid,
    [BY_IDENTITY]: ({ identity }: AccessKey) => identity,
  }
  const indexedKeyOf = (object: KubeObject): IndexedKey => {
    const key = keyWithoutStatus(object)
    if (key.digest === null) return key
    // The earlier string is the one in the Map: another equal one would take memory of its own.
    const before: IndexedKey | undefined = store.get(key.name)
    const isKnown = before?.keyedDigest !== undefined && before.digest === key.digest
    return { ...key, keyedDigest: isKnown ? before.keyedDigest : keyedHex(key.digest) }
  }
  const store: Store<AccessKey> = new Store(indexedKeyOf, indexers, {
    [BY_KEYED_DIGEST]: isOlderKey,
  })
  const ofUnknown = keyedHex(UNKNOWN_KEY.digest ?? '')
  const keyedDigestOf = (key: IndexedKey): string =>
    key === UNKNOWN_KEY ? ofUnknown : (key.keyedDigest ?? keyedHex(key.digest ?? ''))
  return {
    store,
    named: (name) => store.get(name),
    sharing: (key) => store.by(BY_KEYED_DIGEST, keyedDigestOf(key)),
    eldest: (key) => store.firstBy(BY_KEYED_DIGEST, keyedDigestOf(key)),
    isShared: (key) => store.countBy(BY_KEYED_DIGEST, keyedDigestOf(key)) > 1,
    findBySecret: (token) => {
      const isSound = isPresentable(token)
      // A malformed token is looked up all the same, and where no key matches, UNKNOWN_KEY is compared: the
      // duration of a refusal must not reveal its reason.
      const digest = hash('sha256', isSound ? token : '', 'buffer')
      const found = store.firstBy(BY_KEYED_DIGEST, keyed(digest)) ?? UNKNOWN_KEY
      return hasDigest(found, digest) && isSound ? found : UNKNOWN_KEY
    },
    withIdentity: (identity) => store.by(BY_IDENTITY, identity),
    ownedBy: (uid) => store.by(BY_OWNER, uid),
  }
}

/** No key is longer (contract 1.4). */
const LONGEST_KEY = 256
/** No key is shorter; a digest may be of anything, such as the word `null` (contract 3.6). */
const SHORTEST_KEY = 32

/** The digest form may be public in Git: as a token it authenticates no one (contract 3.6). */
const isPresentable = (token: string): boolean =>
  token.length >= SHORTEST_KEY &&
  token.length <= LONGEST_KEY &&
  /^[!-~]+$/.test(token) &&
  !/^sha256:/i.test(token)

/** In constant time. */
const hasDigest = (key: AccessKey, digest: Buffer): boolean =>
  timingSafeEqual(digest, Buffer.from(key.digest ?? '', 'hex'))

/** Shared by all keys: authentication does not use their published status, and there are many keys. */
const NO_STATUS: PublishedKeyStatus = {
  expirationTimestamp: undefined,
  removalTimestamp: undefined,
  effectiveTTLSeconds: undefined,
  keyID: undefined,
  identity: undefined,
  observedGeneration: undefined,
  conditions: [],
}

/** A key as the gateway keeps it: without its status, except the last activity. */
export const keyWithoutStatus = (object: KubeObject): AccessKey => ({
  ...accessKeyOf(object as OwnedAccessKeyObject, secretDigest),
  published: NO_STATUS,
})

/**
 * SHA-256 of spec.key in hex, by which a key is looked up, named and compared. A `sha256:<hex>`
 * gives its own digits, so both forms of a key meet (contract 3.6). Never for a caller's token
 * unless the digest form was refused before: a digest may be public in Git and must open nothing.
 */
export function secretDigest(key: string): string {
  return storedDigestOf(key) ?? hash('sha256', key)
}

// An index of the tokens by their owner, with the fields that counting needs (contract 12.2).

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

const BY_OWNER_KEY = 'owner'

/** Creates an empty index. @param nowMs epoch milliseconds, to drop deleted tokens past their exp */
export function createTokenIndex(keys: KeyIndex, nowMs: () => number): TokenIndex {
  const store = new Store(countedOf, { [BY_OWNER_KEY]: ({ ownerRef }) => ownerRef && ownerRef.uid })
  /** Identities of deleted keys that still own tokens, by uid. */
  const deletedOwners = new Map<string, string>()
  /** When deleted tokens end, by identity. */
  const deletedEnds = new Map<string, number[]>()
  keys.store.subscribe(({ before, after }) => {
    if (!before || before.uid === after?.uid || before.identity === null) return
    if (store.by(BY_OWNER_KEY, before.uid).length > 0)
      deletedOwners.set(before.uid, before.identity)
  })
  store.subscribe(({ before, after }) => {
    const owner = before?.ownerRef
    if (!before || !owner || before.uid === after?.uid) return
    const key = keys.named(owner.name)
    const identity = key?.uid === owner.uid ? key.identity : (deletedOwners.get(owner.uid) ?? null)
    if (store.by(BY_OWNER_KEY, owner.uid).length === 0) deletedOwners.delete(owner.uid)
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
    ownedByIdentity: (identity) =>
      ownerUids(identity).flatMap((uid) => store.by(BY_OWNER_KEY, uid)),
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
