// The authenticated caller of a request, and whether two of them are the same.
import { hash } from 'node:crypto'
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import type { ParsedScope } from '../domain/scope/authorize.ts'

/** The identity that a request is sent upstream with (contract 10.5). */
export interface UserInfo {
  /** Never blank. */
  readonly user: string
  readonly groups: readonly string[]
}

/** The authenticated caller of a request: a key that was valid when it was checked. */
export interface Caller {
  /** The state of the key at that time; a later state is another value. */
  readonly key: AccessKey
  readonly identity: UserInfo
  /** Parsed once for each state of the key. */
  readonly scope: ParsedScope
  /** When the key stops working, in epoch milliseconds; null = never. */
  readonly expiresMs: number | null
}

/**
 * Whether a caller is unchanged: the same object, secret, identity and scope; only its end may differ. Any
 * other scope counts as a narrower one: clients open their streams again (contract 13.4).
 */
export function isSameCaller(before: Caller, now: Caller): boolean {
  if (before.key === now.key) return true
  return (
    before.key.uid === now.key.uid &&
    before.key.digest === now.key.digest &&
    identityAndScopeDigest(before) === identityAndScopeDigest(now)
  )
}

/** By each compared state of a key, and dropped with it. */
const digests = new WeakMap<AccessKey, string>()

/**
 * SHA-256 of identity and scope. A key may have a thousand watches and a scope of a megabyte: it is
 * serialized once for each state of the key, not once for each watch (contract 13.3).
 */
function identityAndScopeDigest({ key, identity }: Caller): string {
  const known = digests.get(key)
  if (known !== undefined) return known
  // The API server sends the members of an object in one order.
  const digest = hash('sha256', JSON.stringify([identity, key.scope]))
  digests.set(key, digest)
  return digest
}
