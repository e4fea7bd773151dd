// The authenticated caller of a request, with its identity and scope.
import { hash } from 'node:crypto'
import { ACCESS_KEY_EXTRA, SCOPE_EXTRA, TOKEN_ID_EXTRA } from '../api/names.ts'
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import { earliest } from '../domain/accesskey/lifetime.ts'
import { teamUsername } from '../domain/people/team.ts'
import { type ParsedScope, parseScope } from '../domain/scope/authorize.ts'
import type { VerifiedToken } from '../domain/token/verified-token.ts'

/** The user and groups that a request is impersonated as upstream (contract 10.5). */
export interface UserInfo {
  /** Never blank. */
  readonly user: string
  readonly groups: readonly string[]
}

/** The fields that every caller has, whatever its credential. */
interface CallerBase {
  readonly identity: UserInfo
  /** The parsed scope of the credential. */
  readonly scope: ParsedScope
  /** When the credential stops working, in epoch milliseconds; null = never. */
  readonly expiresMs: number | null
}

/** The caller that presents an access key: it was valid when it was checked. */
export interface KeyCaller extends CallerBase {
  /** The key at the time of that check; a later state of the key is another object. */
  readonly key: AccessKey
  /** When the key stops working unless it is refreshed, in epoch milliseconds; absent = never (contract 24.5). */
  readonly staleMs?: number
}

/** The caller that presents a direct cluster endpoint token (contract 9.2): it was valid when it was checked. */
export interface TokenCaller extends CallerBase {
  readonly token: VerifiedToken
}

/** The authenticated caller of a request: the gateway accepts keys, the direct endpoint tokens. */
export type Caller = KeyCaller | TokenCaller

/** Whether the caller presents an access key. */
export const isKeyCaller = (caller: Caller): caller is KeyCaller => 'key' in caller

/** The caller as one that presents an access key. @throws Error for a token, which only the direct endpoint accepts */
export function keyCaller(caller: Caller): KeyCaller {
  if (!isKeyCaller(caller)) throw new Error('a token where only access keys are accepted')
  return caller
}

/** The uid of the object that holds the credential: the access key, or the token object. */
export const credentialUid = (caller: Caller): string =>
  isKeyCaller(caller) ? caller.key.uid : caller.token.jti

/** When the credential must be checked again although nothing changes, in epoch milliseconds; null = never. */
export const nextCheckMs = (caller: Caller): number | null =>
  earliest(caller.expiresMs, isKeyCaller(caller) ? (caller.staleMs ?? null) : null)

/** Whether a use of the credential moves its end (`ttlAfterLastActivity`). */
export const slides = (caller: Caller): boolean => isKeyCaller(caller) && caller.key.slides

/**
 * The extras that a request of the caller carries upstream: the name of the access key, and what a stock API server
 * maps from a token (contract 9.2, 10.5).
 */
export function extrasOf(caller: Caller): Readonly<Record<string, string>> {
  if (isKeyCaller(caller)) return { [ACCESS_KEY_EXTRA]: caller.key.name }
  const { name, jti, scope } = caller.token
  return { [ACCESS_KEY_EXTRA]: name, [TOKEN_ID_EXTRA]: jti, [SCOPE_EXTRA]: scope }
}

/**
 * Whether a caller is unchanged: the same object, secret, identity and scope; its expiry may differ, and it may be in
 * more teams. Every other scope counts as narrower, so that clients must open their streams again (contract 13.4, 24.2).
 */
export function isSameCaller(before: KeyCaller, now: KeyCaller): boolean {
  if (!hasGroupsOf(now.identity, before.identity)) return false
  if (before.key === now.key) return true
  return (
    before.key.uid === now.key.uid &&
    before.key.digest === now.key.digest &&
    identityAndScopeDigest(before.key) === identityAndScopeDigest(now.key)
  )
}

/** Whether an identity has every group of another: with equal keys they differ by the groups of teams alone. */
function hasGroupsOf(identity: UserInfo, other: UserInfo): boolean {
  if (identity === other) return true
  const groups = new Set(identity.groups)
  return other.groups.every((group) => groups.has(group))
}

/** The digests of keys that were compared before; an entry is dropped with its key object. */
const digestCache = new WeakMap<AccessKey, string>()

/**
 * SHA-256 of identity and scope, without the teams, computed once for each key object: a key may have a scope of a
 * megabyte and a thousand watches, and serializing the scope for each watch would take too long (contract 13.3).
 */
function identityAndScopeDigest(key: AccessKey): string {
  const cached = digestCache.get(key)
  if (cached !== undefined) return cached
  const { identity } = identityAndScopeOf(key)
  // The API server always sends the members of an object in the same order.
  const digest = hash('sha256', JSON.stringify([identity, key.scope]))
  digestCache.set(key, digest)
  return digest
}

/** The only built-in group of the API server that callers get: RBAC grants it discovery and self reviews. */
export const AUTHENTICATED_GROUP = 'system:authenticated'

/** Printable ASCII without spaces: the API server trims header values and may decode other bytes differently. */
const VISIBLE = /^[!-~]+$/
const RESERVED = /^(?:system|platform):/i

/** Whether a key may use the name: it is printable, and has no reserved prefix. */
const isAllowedName = (name: string): boolean => VISIBLE.test(name) && !RESERVED.test(name)

/**
 * The user info of a key (contract 10.5); null when the key has no identity, or a name that keys may not use. The
 * schema refuses such a key; if it was stored anyway, it authenticates no one.
 */
export function userInfoOf({ identity, groups }: AccessKey): UserInfo | null {
  const at = identity?.indexOf(':') ?? -1
  if (identity === null || at === -1) return null
  const [kind, name] = [identity.slice(0, at), identity.slice(at + 1)]
  if (![name, ...groups].every(isAllowedName)) return null
  const principal = `platform:${kind}:${name}`
  return {
    user: kind === 'team' ? teamUsername(name) : name,
    groups: [
      ...groups,
      ...groups.map((group) => `platform:group:${group}`),
      'platform:authenticated',
      principal,
      AUTHENTICATED_GROUP,
    ],
  }
}

/** The identity and the scope of a key, apart from its validity. */
interface IdentityAndScope {
  /** null = the key authenticates no one. */
  readonly identity: UserInfo | null
  readonly scope: ParsedScope
}

/** Cached identities by key object; every new state of a key is a new object. */
const identityCache = new WeakMap<AccessKey, IdentityAndScope>()

/** The identity, without teams, and the scope of a key, computed once for each key object and dropped with it. */
export function identityAndScopeOf(key: AccessKey): IdentityAndScope {
  const cached = identityCache.get(key)
  if (cached) return cached
  const result = { identity: userInfoOf(key), scope: parseScope(key.scope) }
  identityCache.set(key, result)
  return result
}

/** Cached identities with teams, by the list of teams and the key object. */
const teamIdentityCache = new WeakMap<readonly string[], WeakMap<AccessKey, UserInfo>>()

/**
 * The identity of a key whose user is in these teams (contract 24.2); null = the key authenticates no one.
 *
 * @param teams as People.teamsOf gives them: the identity is computed once for each list and key object
 */
export function identityInTeams(key: AccessKey, teams: readonly string[]): UserInfo | null {
  const { identity } = identityAndScopeOf(key)
  if (identity === null || teams.length === 0) return identity
  const byKey = teamIdentityCache.get(teams) ?? new WeakMap<AccessKey, UserInfo>()
  const cached = byKey.get(key)
  if (cached) return cached
  const inTeams = { ...identity, groups: [...identity.groups, ...teams.map(teamUsername)] }
  teamIdentityCache.set(teams, byKey.set(key, inTeams))
  return inTeams
}
