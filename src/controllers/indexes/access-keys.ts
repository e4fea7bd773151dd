import type { KubeObject } from '../../api/objects.ts'
import { secretDigest } from '../../authn/credential-index.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  accessKeyOf,
} from '../../domain/accesskey/access-key.ts'
import { isOlder } from '../../domain/shared-metadata.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import { isCountedLogin } from '../../domain/accesskey/surplus-logins.ts'
import {
  type KeyLookup,
  type KeyRelations,
  withOwnedKeys,
} from '../../domain/accesskey/owner-chain.ts'
import type { People } from '../../domain/people/people.ts'
import type { Watch } from '../../kube/controller/builder.ts'
import type { Indexers, SortOrders, Store } from '../../kube/informer/store.ts'
import type { PeopleIndex } from '../../people/people-index.ts'
import { type EventLoopShare, forEachYielding } from '../../runtime/concurrency/event-loop.ts'

/** Name of the index of keys by digest. */
const BY_DIGEST = 'digest'

/** Name of the index of keys by the uid of the key that owns them. */
const BY_OWNER_KEY = 'owner-key'

/** Name of the index of keys by their identity. */
export const BY_IDENTITY = 'identity'

/** Name of the index of the Login keys that count for their user (contract 5.1), by identity. */
export const BY_LOGIN = 'login'

/** Parses a key as the API server sends it. */
export const parseKey = (object: KubeObject): AccessKey =>
  accessKeyOf(object as OwnedAccessKeyObject, secretDigest)

/** The indexes of the store of keys. */
export const KEY_INDEXERS: Indexers<AccessKey> = {
  [BY_DIGEST]: ({ digest }) => digest,
  [BY_OWNER_KEY]: ({ ownerRef }) => ownerRef?.uid ?? null,
  [BY_IDENTITY]: ({ identity }) => identity,
  [BY_LOGIN]: (key) => (isCountedLogin(key) ? key.identity : null),
}

/** Sort orders of the indexes: keys with the same secret, oldest first. */
export const KEY_ORDERS: SortOrders<AccessKey> = { [BY_DIGEST]: isOlder }

/** Finds the keys in the store that a key depends on, and those that depend on it. */
export const keysIn = (keys: Store<AccessKey>, people: People): KeyLookup & KeyRelations => ({
  named: (name) => keys.get(name),
  sharing: ({ digest }) => keys.by(BY_DIGEST, digest ?? ''),
  eldest: ({ digest }) => keys.firstBy(BY_DIGEST, digest ?? ''),
  isShared: ({ digest }) => keys.countBy(BY_DIGEST, digest ?? '') > 1,
  ownedBy: (uid) => keys.by(BY_OWNER_KEY, uid),
  people,
})

/** The keys of an identity, and all keys that they own. */
export const keysUnder = (
  identity: string,
  keys: Store<AccessKey>,
  { ownedBy }: Pick<KeyRelations, 'ownedBy'>,
): readonly AccessKey[] => withOwnedKeys(keys.by(BY_IDENTITY, identity), ownedBy)

/**
 * A watch that enqueues names for each identity whose keys a change of a User or Team may affect. A Team of a thousand
 * people yields to the event loop.
 */
export const onPeople =
  (
    people: Pick<PeopleIndex, 'subscribe'>,
    eventLoop: EventLoopShare,
    namesOf: (identity: string) => Iterable<string>,
  ): Watch =>
  (enqueue) =>
    people.subscribe((identities) => {
      void forEachYielding(eventLoop, identities, (identity) => {
        for (const name of namesOf(identity)) enqueue(name, 'change')
      })
    })

/** When a key ends, in epoch milliseconds; infinity = never. A resync takes keys in this order (contract 2.7). */
export const endMsOf = (key: AccessKey, caps: Caps, nowMs: number): number =>
  lifetimeOf(key, caps, nowMs).expiresMs ?? Number.POSITIVE_INFINITY
