// Access keys that were created with another one (contract 12.2): self-service labels each new key with the uid of the
// caller's key, so that all of them can be found when that key leaks.
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

/** The view of an object, without its secret. */
export function derivedKeyOf(object: OwnedAccessKeyObject): DerivedKey {
  const { name, uid, identity, isDisabled, isDeleting } = accessKeyOf(object, () => '')
  const madeWith = object.metadata.labels?.[MADE_WITH_LABEL] ?? null
  return { name, uid, identity, isDisabled, isDeleting, madeWith }
}

/**
 * The uid of the key with this name or uid; null when there is none. A uid has precedence over a name: users may name a
 * key like the uid of another. The uid of a deleted key counts while a key created with it exists.
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
  const known = new Set([uid])
  // Iterating a Set includes what is added meanwhile.
  for (const creator of known) {
    for (const key of byCreator.get(creator) ?? []) {
      if (known.has(key.uid)) continue
      known.add(key.uid)
      found.push(key)
    }
  }
  return found
}
