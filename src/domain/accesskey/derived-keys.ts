// What was made with an access key (contract 12.2): self-service labels each key that it makes with the uid of the
// calling key, so that all of them can be found when that key leaks.
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
  /** Uid of the key that it was made with; null when self-service did not make it. */
  readonly madeWith: string | null
}

/** The view of an object. It holds no secret. */
export function derivedKeyOf(object: OwnedAccessKeyObject): DerivedKey {
  const { name, uid, identity, isDisabled, isDeleting } = accessKeyOf(object, () => '')
  const madeWith = object.metadata.labels?.[MADE_WITH_LABEL] ?? null
  return { name, uid, identity, isDisabled, isDeleting, madeWith }
}

/**
 * The uid of the key with this name or uid; null when there is none. A uid has precedence: a user may name a key like
 * the uid of another. The uid of a deleted key counts as long as a key made with it exists.
 */
export function resolveKeyUid(keys: readonly DerivedKey[], nameOrUid: string): string | null {
  const isUid = keys.some(({ uid, madeWith }) => uid === nameOrUid || madeWith === nameOrUid)
  if (isUid) return nameOrUid
  return keys.find(({ name }) => name === nameOrUid)?.uid ?? null
}

/** The key with this uid, if it exists, all keys made with it, and all made with these, and so on. */
export function descendantsOf(keys: readonly DerivedKey[], uid: string): readonly DerivedKey[] {
  const byMaker = Map.groupBy(keys, ({ madeWith }) => madeWith)
  const line = keys.filter((key) => key.uid === uid)
  const known = new Set([uid])
  // Iterating a Set includes what is added meanwhile.
  for (const maker of known) {
    for (const made of byMaker.get(maker) ?? []) {
      if (known.has(made.uid)) continue
      known.add(made.uid)
      line.push(made)
    }
  }
  return line
}
