// Access keys that were created with another key (contract 12.2): self-service labels each new key with the uid of the
// caller's key, so that all keys made with a leaked key can be found.
import { MADE_WITH_LABEL } from '../../api/names.ts'
import { type OwnedAccessKeyObject, accessKeyOf } from './access-key.ts'

/** The fields of an access key that its revocation needs. */
export interface DerivedKey {
  readonly name: string
  readonly uid: string
  /** `user:<user>`, `team:<team>` or `subject:<subject>`; null when it has no identity. */
  readonly identity: string | null
  readonly isDisabled: boolean
  readonly isDeleting: boolean
  /** Uid of the key that created it; null when self-service did not. */
  readonly madeWith: string | null
}

/** Reads these fields from an object. */
export function derivedKeyOf(object: OwnedAccessKeyObject): DerivedKey {
  const { name, uid, identity, isDisabled, isDeleting } = accessKeyOf(object, () => '')
  const madeWith = object.metadata.labels?.[MADE_WITH_LABEL] ?? null
  return { name, uid, identity, isDisabled, isDeleting, madeWith }
}

/**
 * The uid of the key with this name or uid; null when there is none. A uid takes precedence, because a user may give a
 * key the uid of another key as its name. The uid of a deleted key is found while a key that it created exists.
 */
export function resolveKeyUid(keys: readonly DerivedKey[], nameOrUid: string): string | null {
  const isUid = keys.some(({ uid, madeWith }) => uid === nameOrUid || madeWith === nameOrUid)
  if (isUid) return nameOrUid
  return keys.find(({ name }) => name === nameOrUid)?.uid ?? null
}

/** The key with this uid, if it exists, and all keys created with it, directly or through others. */
export function descendantsOf(keys: readonly DerivedKey[], uid: string): readonly DerivedKey[] {
  const byCreator = Map.groupBy(keys, ({ madeWith }) => madeWith)
  const found = keys.filter((key) => key.uid === uid)
  const visited = new Set([uid])
  // The iteration also visits the uids that the loop adds to the Set.
  for (const creator of visited) {
    for (const key of byCreator.get(creator) ?? []) {
      if (visited.has(key.uid)) continue
      visited.add(key.uid)
      found.push(key)
    }
  }
  return found
}
