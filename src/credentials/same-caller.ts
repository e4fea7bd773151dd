import { hash } from 'node:crypto'
import type { AccessKey } from '../domain/access-key.ts'
import type { Caller } from './caller.ts'

/**
 * Whether a caller is the same as before: the same object with the same secret, as the same identity and
 * with the same scope. Only when it ends may differ. A scope that is another is taken for a narrower one:
 * what was opened with the one before is opened anew (contract 13.4).
 */
export function isSameCaller(before: Caller, now: Caller): boolean {
  if (before.key === now.key) return true
  return (
    before.key.uid === now.key.uid &&
    before.key.digest === now.key.digest &&
    digestOf(before) === digestOf(now)
  )
}

/** Of each state of a key that was compared; gone with it. */
const digests = new WeakMap<AccessKey, string>()

/**
 * SHA-256 of what a key grants. A key may have a thousand watches and a scope of a megabyte: as text it is
 * written once for each state of the key, not once for each watch (contract 13.3).
 */
function digestOf({ key, identity }: Caller): string {
  const known = digests.get(key)
  if (known !== undefined) return known
  // The API server sends the members of an object in one order.
  const digest = hash('sha256', JSON.stringify([identity, key.scope]))
  digests.set(key, digest)
  return digest
}
