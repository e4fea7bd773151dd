import type { AccessKey } from '../domain/access-key.ts'
import { type ReadScope, readScope } from '../domain/scope/decide.ts'
import type { Identity } from './caller.ts'
import { identityOf } from './identity.ts'

/** What a key says, apart from whether it works. */
export interface KeyMeaning {
  /** null = nobody: the key opens nothing. */
  readonly identity: Identity | null
  readonly scope: ReadScope
}

/** Another state of a key is another object: what was read here is of that state only. */
const read = new WeakMap<AccessKey, KeyMeaning>()

/** Read once for each state of a key that is used, and gone with it. */
export function meaningOf(key: AccessKey): KeyMeaning {
  const known = read.get(key)
  if (known) return known
  const meaning = { identity: identityOf(key), scope: readScope(key.scope) }
  read.set(key, meaning)
  return meaning
}
