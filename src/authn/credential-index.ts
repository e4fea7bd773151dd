// An index of the access keys by digest of their secret (contract 10.3), and an index of the tokens by owner.
import { hash, timingSafeEqual } from 'node:crypto'
import type { DirectClusterEndpointToken } from '../api/directclusterendpointtoken.gen.ts'
import type { KubeObject } from '../api/objects.ts'
import {
  type AccessKey,
  accessKeyOf,
  type OwnedAccessKeyObject,
  type PublishedKeyStatus,
  storedDigestOf,
} from '../domain/accesskey/access-key.ts'
import { isOlder } from '../domain/shared-metadata.ts'
import type { KeyLookup, KeyRelations } from '../domain/accesskey/owner-chain.ts'
import type { People } from '../domain/people/people.ts'
import {
  isAppliedByGitOps,
  type KeyRef,
  onExpiryOf,
  owningKeyOf,
} from '../domain/shared-metadata.ts'
import { parseTimestamp } from '../domain/time.ts'
import { type CachedObject, Store } from '../kube/informer/store.ts'
import { UNKNOWN_KEY } from './key-validity.ts'

/** All access keys, as the watch delivers them. */
export interface KeyIndex extends KeyLookup, KeyRelations {
  /** The store that a watch of the access keys fills. */
  readonly store: Store<AccessKey>
  /** The oldest key whose secret is this bearer token; UNKNOWN_KEY when there is none. */
  readonly findBySecret: (token: string) => AccessKey
  /** The keys with this identity: `user:<user>`, `team:<team>` or `subject:<subject>`. */
  readonly withIdentity: (identity: string) => readonly AccessKey[]
}

interface IndexedKey extends AccessKey {
  /**
   * The key's digest, hashed with the secret of this process, by which the index finds the key. Absent in a key without
   * a secret, and in a key that did not come from the store.
   */
  readonly keyedDigest?: string
}

const BY_KEYED_DIGEST = 'keyedDigest'
const BY_OWNER = 'owner'
const BY_IDENTITY = 'identity'

/**
 * Creates an empty index. Its Map is keyed by a SHA-256 of a secret and each key's SHA-256, so that neither callers nor
 * users who store digests can provoke collisions. Each indexed key has its keyed digest, so a request computes only the
 * digest of its bearer token.
 *
 * @param secret 32 random bytes of this process
 * @param people whom the keys act as
 */
export function createKeyIndex(secret: Uint8Array, people: People): KeyIndex {
  const keyed = Buffer.alloc(secret.length + DIGEST_LENGTH)
  keyed.set(secret)
  const digest = keyed.subarray(secret.length)
  // Both parts have a fixed length, so that a plain hash is as good as an HMAC, and takes a fifth of its time. One byte a
  // character, because base64 takes a third more memory for each key.
  const hashWithSecret = (text: string, encoding: 'hex' | 'binary'): string => {
    const length = digest.write(text, encoding)
    // Clears what the previous digest has left.
    if (length < DIGEST_LENGTH) digest.fill(0, length)
    return hash('sha256', keyed, 'binary')
  }
  const hashHexWithSecret = (hex: string): string => hashWithSecret(hex, 'hex')
  const indexers = {
    [BY_KEYED_DIGEST]: ({ keyedDigest }: IndexedKey) => keyedDigest ?? null,
    [BY_OWNER]: ({ ownerRef }: AccessKey) => ownerRef && ownerRef.uid,
    [BY_IDENTITY]: ({ identity }: AccessKey) => identity,
  }
  const indexedKeyOf = (object: KubeObject): IndexedKey => {
    const key = keyWithoutStatus(object)
    if (key.digest === null) return key
    // Reuses the string that the Map has already: an equal copy would take more memory.
    const before: IndexedKey | undefined = store.get(key.name)
    const isKnown = before?.keyedDigest !== undefined && before.digest === key.digest
    return { ...key, keyedDigest: isKnown ? before.keyedDigest : hashHexWithSecret(key.digest) }
  }
  const store: Store<AccessKey> = new Store(indexedKeyOf, indexers, {
    [BY_KEYED_DIGEST]: isOlder,
  })
  const unknownKeyedDigest = hashHexWithSecret(UNKNOWN_KEY.digest ?? '')
  const keyedDigestOf = (key: IndexedKey): string =>
    key === UNKNOWN_KEY
      ? unknownKeyedDigest
      : (key.keyedDigest ?? hashHexWithSecret(key.digest ?? ''))
  return {
    store,
    people,
    named: (name) => store.get(name),
    sharing: (key) => store.by(BY_KEYED_DIGEST, keyedDigestOf(key)),
    eldest: (key) => store.firstBy(BY_KEYED_DIGEST, keyedDigestOf(key)),
    isShared: (key) => store.countBy(BY_KEYED_DIGEST, keyedDigestOf(key)) > 1,
    findBySecret: (token) => {
      const isWellFormed = isWellFormedToken(token)
      // Malformed tokens are looked up too, and without a match UNKNOWN_KEY is compared: the duration of a refusal must
      // not reveal its reason.
      // A buffer as the result would take three times as long.
      const ofToken = hash('sha256', isWellFormed ? token : '', 'binary')
      const keyedDigest = hashWithSecret(ofToken, 'binary')
      const found = store.firstBy(BY_KEYED_DIGEST, keyedDigest) ?? UNKNOWN_KEY
      return hasDigest(found, digest) && isWellFormed ? found : UNKNOWN_KEY
    },
    withIdentity: (identity) => store.by(BY_IDENTITY, identity),
    ownedBy: (uid) => store.by(BY_OWNER, uid),
  }
}

/** Bytes of a SHA-256. */
const DIGEST_LENGTH = 32

/** Maximum length of a key in characters (contract 1.4). */
const MAX_KEY_LENGTH = 256
/** Minimum length of a key: a stored digest may be of anything, such as the word `null` (contract 3.6). */
const MIN_KEY_LENGTH = 32

/** Whether a token may be a key. The form `sha256:` authenticates no one: it may be public in Git (contract 3.6). */
const isWellFormedToken = (token: string): boolean =>
  token.length >= MIN_KEY_LENGTH &&
  token.length <= MAX_KEY_LENGTH &&
  /^(?!sha256:)[!-~]+$/i.test(token)

/** Reused for the digest of the compared key: a new buffer each time would take longer than the comparison. */
const digestOfKey = Buffer.alloc(DIGEST_LENGTH)

/** Compares digests in constant time. */
const hasDigest = (key: AccessKey, digest: Buffer): boolean =>
  digestOfKey.write(key.digest ?? '', 'hex') === DIGEST_LENGTH &&
  timingSafeEqual(digest, digestOfKey)

/** One empty status for all keys, to save memory: authentication does not use the published status. */
const NO_STATUS: PublishedKeyStatus = {
  expirationTimestamp: undefined,
  removalTimestamp: undefined,
  effectiveTTLSeconds: undefined,
  keyID: undefined,
  identity: undefined,
  observedGeneration: undefined,
  conditions: [],
}

/** Parses a key as the gateway stores it: without its status, except the last activity. */
export const keyWithoutStatus = (object: KubeObject): AccessKey => ({
  ...accessKeyOf(object as OwnedAccessKeyObject, secretDigest),
  published: NO_STATUS,
})

/**
 * SHA-256 of spec.key in hex, by which keys are looked up, identified and compared. For `sha256:<hex>` it is that hex,
 * so both forms of a key have the same digest (contract 3.6). Never call it with a caller's token of the form
 * `sha256:`: a digest may be public in Git and must not authenticate anyone.
 */
export function secretDigest(key: string): string {
  return storedDigestOf(key) ?? hash('sha256', key)
}

/** The fields of a token that quotas need (contract 12.2). */
interface CountedToken extends CachedObject {
  readonly ownerRef: KeyRef | null
  /** The token's exp in epoch milliseconds; null = not issued yet. */
  readonly expiresMs: number | null
  /** Whether the object is kept after its expiry: a GitOps tool would create it again, or an annotation keeps it. */
  readonly isKept: boolean
}

/** All tokens by their owners, as the watch delivers them. */
export interface TokenIndex {
  /** The store that a watch of the tokens fills. */
  readonly store: Store<CountedToken>
  /** The tokens that keys with this identity own, including keys that are deleted. */
  readonly ownedByIdentity: (identity: string) => readonly CountedToken[]
  /** How many deleted tokens of this identity have an exp after `nowMs`, in epoch milliseconds. */
  readonly countDeleted: (identity: string, nowMs: number) => number
}

const BY_OWNER_KEY = 'owner'

/** Creates an empty index. @param nowMs the time in epoch milliseconds, to drop deleted tokens past their exp */
export function createTokenIndex(keys: KeyIndex, nowMs: () => number): TokenIndex {
  const store = new Store(countedTokenOf, {
    [BY_OWNER_KEY]: ({ ownerRef }) => ownerRef && ownerRef.uid,
  })
  /** By uid, the identity of each deleted key that still owns tokens. */
  const deletedOwners = new Map<string, string>()
  /** By identity, the exp of each deleted token in epoch milliseconds. */
  const deletedExpiries = new Map<string, number[]>()
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
    const expiries = deletedExpiries.get(identity) ?? []
    expiries.push(before.expiresMs)
    // Expired entries are dropped only at some lengths: at each of a hundred thousand deletes it would take too long.
    const isPowerOfTwo = (expiries.length & (expiries.length - 1)) === 0
    deletedExpiries.set(identity, isPowerOfTwo ? unexpired(expiries, nowMs()) : expiries)
  })
  const ownerUids = (identity: string): readonly string[] => [
    ...keys.withIdentity(identity).map(({ uid }) => uid),
    ...[...deletedOwners].filter(([, owner]) => owner === identity).map(([uid]) => uid),
  ]
  return {
    store,
    ownedByIdentity: (identity) =>
      ownerUids(identity).flatMap((uid) => store.by(BY_OWNER_KEY, uid)),
    countDeleted: (identity, now) => unexpired(deletedExpiries.get(identity), now).length,
  }
}

const unexpired = (expiries: readonly number[] = [], nowMs: number): number[] =>
  expiries.filter((expiresMs) => expiresMs > nowMs)

function countedTokenOf(object: KubeObject): CountedToken {
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
