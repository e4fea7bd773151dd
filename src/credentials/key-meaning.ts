import type { AccessKey } from '../domain/accesskey/access-key.ts'
import { type ReadScope, readScope } from '../domain/scope/authorize.ts'
import type { Identity } from './caller.ts'
import { identityOf } from './identity.ts'

/** The identity and the scope of a key, apart from its validity. */
export interface KeyMeaning {
  /** null = none: the key opens nothing. */
  readonly identity: Identity | null
  readonly scope: ReadScope
}

/** A new state of a key is a new object, so each entry belongs to one state. */
const read = new WeakMap<AccessKey, KeyMeaning>()

/** Computed once for each state of a key in use, and dropped with it. */
export function meaningOf(key: AccessKey): KeyMeaning {
  const known = read.get(key)
  if (known) return known
  const meaning = { identity: identityOf(key), scope: readScope(key.scope) }
  read.set(key, meaning)
  return meaning
}
