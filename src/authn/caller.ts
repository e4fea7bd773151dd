// The authenticated caller of a request, and whether two of them are the same.
import { hash } from 'node:crypto'
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import { type ParsedScope, parseScope } from '../domain/scope/authorize.ts'

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

// The user info that the requests of a key run with (contract 10.5).

/** The only built-in group of the API server that callers are in: it is granted discovery and self reviews. */
export const AUTHENTICATED_GROUP = 'system:authenticated'

/** The user name of a team's keys at the API server. */
export const teamUsername = (team: string): string => `platform:team:${team}`

/** One printable word: the API server trims the value of a header, and reads other bytes in its own way. */
const VISIBLE = /^[!-~]+$/
const RESERVED = /^(?:system|platform):/i

/** Whether a key may use the name: neither the API server nor this program reserves it. */
const isAllowedName = (name: string): boolean => VISIBLE.test(name) && !RESERVED.test(name)

/**
 * The user info of a key; null when it names none, or a name that keys may not use: the schema refuses such a key,
 * and one that got past it authenticates no one.
 */
export function userInfoOf({ identity, groups }: AccessKey): UserInfo | null {
  const at = identity?.indexOf(':') ?? -1
  if (identity === null || at === -1) return null
  const [kind, name] = [identity.slice(0, at), identity.slice(at + 1)]
  if (![name, ...groups].every(isAllowedName)) return null
  const own = `platform:${kind}:${name}`
  return {
    user: kind === 'team' ? teamUsername(name) : name,
    groups: [
      ...groups,
      ...groups.map((group) => `platform:group:${group}`),
      'platform:authenticated',
      own,
      AUTHENTICATED_GROUP,
    ],
  }
}

/** The identity and the scope of a key, apart from its validity. */
interface IdentityAndScope {
  /** null = none: the key authenticates no one. */
  readonly identity: UserInfo | null
  readonly scope: ParsedScope
}

/** A new state of a key is a new object, so each entry belongs to one state. */
const computed = new WeakMap<AccessKey, IdentityAndScope>()

/** The identity and the scope of a key. Computed once for each state of a key in use, and dropped with it. */
export function identityAndScopeOf(key: AccessKey): IdentityAndScope {
  const known = computed.get(key)
  if (known) return known
  const both = { identity: userInfoOf(key), scope: parseScope(key.scope) }
  computed.set(key, both)
  return both
}
