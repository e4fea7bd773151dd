// The keys that are known, found by their secret without keeping it (contract 10.3, threats C1 and C2).
import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { KubeObject } from '../api/meta.ts'
import {
  type AccessKey,
  accessKeyOf,
  type OwnedAccessKeyObject,
  type PublishedStatus,
} from '../domain/access-key.ts'
import type { KeyRelations, KnownKeys } from '../domain/key-line.ts'
import { Store } from '../kube/store.ts'
import { digestOf } from './digest.ts'
import { NOBODY } from './key-verdict.ts'

/** The keys of the platform, as the watch tells them. */
export interface KeyIndex extends KnownKeys, KeyRelations {
  /** To be kept equal to the keys of the API server. */
  readonly store: Store<AccessKey>
  /** The keys whose secret was presented: none, one, or several in conflict. */
  readonly find: (token: string) => readonly AccessKey[]
}

const BY_KEYED_DIGEST = 'keyedDigest'
const BY_OWNER = 'owner'
const NONE: readonly AccessKey[] = []
/** Compared where there is nothing to compare with: it takes its time, and is never found. */
const DECOY: readonly AccessKey[] = [NOBODY]

/**
 * An index of no keys yet. Its Map is keyed by an HMAC of the SHA-256 of a key: what callers send, and the
 * digests that users store, choose no place in it.
 *
 * @param secret 32 random bytes of this process
 */
export function createKeyIndex(secret: Uint8Array): KeyIndex {
  const hmacKey = createSecretKey(secret)
  const keyed = (digest: Buffer): string =>
    createHmac('sha256', hmacKey).update(digest).digest('base64')
  const store = new Store(viewOf, {
    [BY_KEYED_DIGEST]: ({ digest }) => digest && keyed(Buffer.from(digest, 'hex')),
    [BY_OWNER]: ({ ownerRef }) => ownerRef && ownerRef.uid,
  })
  const withDigest = (digest: Buffer): readonly AccessKey[] => {
    const candidates = store.by(BY_KEYED_DIGEST, keyed(digest))
    const same = (candidates.length > 0 ? candidates : DECOY).filter((key) => isOf(key, digest))
    return candidates.length > 0 ? same : NONE
  }
  return {
    store,
    named: (name) => store.get(name),
    sharing: (digest) => withDigest(Buffer.from(digest, 'hex')),
    find: (token) => {
      const isSound = isPresentable(token)
      // What is no key is looked up all the same: how long a refusal takes must not tell why.
      const found = withDigest(
        createHash('sha256')
          .update(isSound ? token : '')
          .digest(),
      )
      return isSound ? found : NONE
    },
    ownedBy: (uid) => store.by(BY_OWNER, uid),
  }
}

/** No key is longer (contract 1.4). */
const LONGEST_KEY = 256
/** No key is shorter; a digest may be of anything, such as the word `null` (contract 3.6). */
const SHORTEST_KEY = 32

/** The digest form may stand in Git: presented, it opens nothing (contract 3.6). */
const isPresentable = (token: string): boolean =>
  token.length >= SHORTEST_KEY &&
  token.length <= LONGEST_KEY &&
  /^[!-~]+$/.test(token) &&
  !/^sha256:/i.test(token)

const isOf = (key: AccessKey, digest: Buffer): boolean =>
  timingSafeEqual(digest, Buffer.from(key.digest ?? '', 'hex'))

/** One for all: what is published is not consulted here, and there are many keys. */
const NOT_KEPT: PublishedStatus = {
  expirationTimestamp: undefined,
  removalTimestamp: undefined,
  effectiveTTLSeconds: undefined,
  keyID: undefined,
  identity: undefined,
  observedGeneration: undefined,
  conditions: [],
}

/** A key as the gateway looks at it: without its status, but for its last use. */
export const viewOf = (object: KubeObject): AccessKey => ({
  ...accessKeyOf(object as OwnedAccessKeyObject, digestOf),
  published: NOT_KEPT,
})
