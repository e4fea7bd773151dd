import type { AccessKey } from '../../domain/access-key.ts'
import { type KnownKeys, withOwned } from '../../domain/key-line.ts'
import { type Caps, lifetimeOf } from '../../domain/lifetime.ts'
import type { Change, Indexers, Store } from '../../kube/store.ts'

/** Name of the index of keys by digest. */
export const BY_DIGEST = 'digest'

/** Name of the index of keys by the uid of the key that owns them. */
export const BY_OWNER_KEY = 'owner-key'

/** The indexes that the controllers need of their store. */
export const KEY_INDEXERS: Indexers<AccessKey> = {
  [BY_DIGEST]: ({ digest }) => digest,
  [BY_OWNER_KEY]: ({ ownerRef }) => ownerRef?.uid ?? null,
}

/** The keys of the store, as one is judged among them. */
export const keysIn = (keys: Store<AccessKey>): KnownKeys => ({
  named: (name) => keys.get(name),
  sharing: (digest) => keys.by(BY_DIGEST, digest),
})

/** Names of all keys, earliest end first: what is overdue is caught up in that order (contract 2.7). */
export function namesByEnd(keys: Store<AccessKey>, caps: Caps, nowMs: number): readonly string[] {
  const ends = [...keys.values()].map((key) => ({
    name: key.name,
    endMs: lifetimeOf(key, caps, nowMs).expiresMs ?? Number.POSITIVE_INFINITY,
  }))
  return ends
    .toSorted((a, b) => (a.endMs === b.endMs ? 0 : a.endMs - b.endMs))
    .map(({ name }) => name)
}

/**
 * Names of the keys that a change is about: the key itself, others with the same secret where it comes or
 * goes, because that decides which of them works (contract 3.3), and all that any of these owns (10.3).
 */
export function namesTouchedBy(
  { name, before, after }: Change<AccessKey>,
  keys: Store<AccessKey>,
): readonly string[] {
  const changed = [before, after].filter((key) => key !== undefined)
  if (before?.digest === after?.digest) return namesWithOwned(name, changed, keys)
  const digests = [before?.digest, after?.digest].filter((digest) => typeof digest === 'string')
  const peers = digests.flatMap((digest) => keys.by(BY_DIGEST, digest))
  return namesWithOwned(name, [...changed, ...peers], keys)
}

function namesWithOwned(
  name: string,
  among: readonly AccessKey[],
  keys: Store<AccessKey>,
): readonly string[] {
  const names = new Set([name, ...among.map((key) => key.name)])
  withOwned(
    among.map(({ uid }) => uid),
    (uid) => {
      const owned = keys.by(BY_OWNER_KEY, uid)
      for (const key of owned) names.add(key.name)
      return owned
    },
  )
  return [...names]
}
