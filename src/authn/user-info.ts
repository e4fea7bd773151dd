// The user info that the requests of a key run with (contract 10.5).
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import { type ParsedScope, parseScope } from '../domain/scope/authorize.ts'
import type { UserInfo } from './caller.ts'

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
