// An index of the keys by their secret, without the secrets (contract 10.3, threats C1 and C2).
import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { KubeObject } from '../api/objects.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  type PublishedKeyStatus,
  accessKeyOf,
  storedDigestOf,
} from '../domain/accesskey/access-key.ts'
import { isOlderKey } from '../domain/accesskey/key-state.ts'
import type { KeyRelations, KeyLookup } from '../domain/accesskey/owner-chain.ts'
import { Store } from '../kube/informer/store.ts'
import { UNKNOWN_KEY } from './key-validity.ts'

/** The keys of the platform, as the watch delivers them. */
export interface KeyIndex extends KeyLookup, KeyRelations {
  /** A watch keeps it equal to the keys of the API server. */
  readonly store: Store<AccessKey>
  /** The eldest key whose secret was presented; NOBODY where there is none. */
  readonly find: (token: string) => AccessKey
  /** The keys of one `user:<user>`, `team:<team>` or `subject:<subject>`. */
  readonly of: (identity: string) => readonly AccessKey[]
}

const BY_KEYED_DIGEST = 'keyedDigest'
const BY_OWNER = 'owner'
const BY_IDENTITY = 'identity'

/**
 * Creates an empty index. Its Map is keyed by an HMAC of a key's SHA-256: neither the tokens of callers nor
 * the digests that users store choose a place in it.
 *
 * @param secret 32 random bytes of this process
 */
export function createKeyIndex(secret: Uint8Array): KeyIndex {
  const hmacKey = createSecretKey(secret)
  const keyed = (digest: Buffer): string =>
    createHmac('sha256', hmacKey).update(digest).digest('base64')
  const indexers = {
    [BY_KEYED_DIGEST]: ({ digest }: AccessKey) => digest && keyed(Buffer.from(digest, 'hex')),
    [BY_OWNER]: ({ ownerRef }: AccessKey) => ownerRef && ownerRef.uid,
    [BY_IDENTITY]: ({ identity }: AccessKey) => identity,
  }
  const store = new Store(viewOf, indexers, { [BY_KEYED_DIGEST]: isOlderKey })
  // Without a match NOBODY is compared all the same: the duration of a refusal must not reveal its reason.
  const eldestWith = (digest: Buffer): AccessKey => {
    const found = store.firstBy(BY_KEYED_DIGEST, keyed(digest)) ?? UNKNOWN_KEY
    return isOf(found, digest) ? found : UNKNOWN_KEY
  }
  return {
    store,
    named: (name) => store.get(name),
    sharing: (digest) => store.by(BY_KEYED_DIGEST, keyed(Buffer.from(digest, 'hex'))),
    eldest: (digest) => {
      const found = eldestWith(Buffer.from(digest, 'hex'))
      return found === UNKNOWN_KEY ? undefined : found
    },
    isShared: (digest) => store.countBy(BY_KEYED_DIGEST, keyed(Buffer.from(digest, 'hex'))) > 1,
    find: (token) => {
      const isSound = isPresentable(token)
      // A malformed token is looked up all the same.
      const text = isSound ? token : ''
      const found = eldestWith(createHash('sha256').update(text).digest())
      return isSound ? found : UNKNOWN_KEY
    },
    of: (identity) => store.by(BY_IDENTITY, identity),
    ownedBy: (uid) => store.by(BY_OWNER, uid),
  }
}

/** No key is longer (contract 1.4). */
const LONGEST_KEY = 256
/** No key is shorter; a digest may be of anything, such as the word `null` (contract 3.6). */
const SHORTEST_KEY = 32

/** The digest form may be public in Git: as a token it opens nothing (contract 3.6). */
const isPresentable = (token: string): boolean =>
  token.length >= SHORTEST_KEY &&
  token.length <= LONGEST_KEY &&
  /^[!-~]+$/.test(token) &&
  !/^sha256:/i.test(token)

const isOf = (key: AccessKey, digest: Buffer): boolean =>
  timingSafeEqual(digest, Buffer.from(key.digest ?? '', 'hex'))

/** Shared by all keys: their published status is not used here, and there are many keys. */
const NOT_KEPT: PublishedKeyStatus = {
  expirationTimestamp: undefined,
  removalTimestamp: undefined,
  effectiveTTLSeconds: undefined,
  keyID: undefined,
  identity: undefined,
  observedGeneration: undefined,
  conditions: [],
}

/** A key as the gateway keeps it: without its status, except the last use. */
export const viewOf = (object: KubeObject): AccessKey => ({
  ...accessKeyOf(object as OwnedAccessKeyObject, secretDigest),
  published: NOT_KEPT,
})

/**
 * SHA-256 of spec.key in hex, by which a key is looked up, named and compared. A `sha256:<hex>`
 * gives its own digits, so both forms of a key meet (contract 3.6). Never for a caller's token
 * unless the digest form was refused before: a digest may be public in Git and must open nothing.
 */
export function secretDigest(key: string): string {
  return storedDigestOf(key) ?? createHash('sha256').update(key, 'utf8').digest('hex')
}
