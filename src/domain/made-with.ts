// What was made with an access key (contract 12.2): self-service writes the uid of the calling key on each key
// that it makes, so that all of them are found when that one leaks.
import { MADE_WITH_LABEL } from '../api/group.ts'
import { type OwnedAccessKeyObject, accessKeyOf } from './access-key.ts'

/** An access key, as far as its making and its end go. */
export interface MadeKey {
  readonly name: string
  readonly uid: string
  /** `user:<user>`, `team:<team>` or `subject:<subject>`; null when it names nobody. */
  readonly identity: string | null
  readonly isDisabled: boolean
  readonly isDeleting: boolean
  /** Uid of the key that it was made with; null where self-service did not make it. */
  readonly madeWith: string | null
}

/** The view of an object. It holds no secret. */
export function madeKeyOf(object: OwnedAccessKeyObject): MadeKey {
  const { name, uid, identity, isDisabled, isDeleting } = accessKeyOf(object, () => '')
  const madeWith = object.metadata.labels?.[MADE_WITH_LABEL] ?? null
  return { name, uid, identity, isDisabled, isDeleting, madeWith }
}

/**
 * The uid of the key that is meant; null when there is none. A uid comes first: somebody may name a key of his
 * like the uid of another. That of a key that is gone counts while one that was made with it is there.
 */
export function uidOf(keys: readonly MadeKey[], nameOrUid: string): string | null {
  const isUid = keys.some(({ uid, madeWith }) => uid === nameOrUid || madeWith === nameOrUid)
  if (isUid) return nameOrUid
  return keys.find(({ name }) => name === nameOrUid)?.uid ?? null
}

/** The key with this uid, if it is there, all that were made with it, and all that were made with these. */
export function lineFrom(keys: readonly MadeKey[], uid: string): readonly MadeKey[] {
  const byMaker = Map.groupBy(keys, ({ madeWith }) => madeWith)
  const line = keys.filter((key) => key.uid === uid)
  const known = new Set([uid])
  // A set is walked over to its end, what is added meanwhile included.
  for (const maker of known) {
    for (const made of byMaker.get(maker) ?? []) {
      if (known.has(made.uid)) continue
      known.add(made.uid)
      line.push(made)
    }
  }
  return line
}
