// Authenticates callers, and checks later whether they are still valid (contract 10.3, 10.4). A fresh index
// answers by itself; else each request reads the key from the API server, and is refused where that fails.
import type { Scope } from '../api/scope.gen.ts'
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import type { Caps } from '../domain/accesskey/lifetime.ts'
import type { KeyLookup } from '../domain/accesskey/owner-chain.ts'
import { type Clock, type Moment, currentMoment } from '../runtime/clock.ts'
import type { Poller } from '../runtime/concurrency/poller.ts'
import { type Caller, identityAndScopeOf, isSameCaller } from './caller.ts'
import type { KeyIndex } from './credential-index.ts'
import { type InvalidKeyReason, UNKNOWN_KEY, checkKey } from './key-validity.ts'
import type { LiveKeyReader } from './live-reader.ts'
import { isFresh } from './staleness.ts'

/** The caller, or the reason of the refusal. `unavailable`: it can't be decided now. */
export type AuthenticationResult =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly because: InvalidKeyReason | 'unavailable' }

/**
 * The state of an earlier caller. `changed`: its identity or scope differs now; `stale`: it can't be decided now.
 */
export type Reauthentication =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly because: 'expired' | 'revoked' | 'changed' | 'stale' }

/** Dependencies of createAuthenticator. */
interface AuthenticatorOptions {
  readonly clock: Clock
  readonly index: KeyIndex
  readonly reader: LiveKeyReader
  /** Up to when the index is known to be complete; null = not at all. */
  readonly provenAt: () => Moment | null
  /** null until the first settings in force have arrived. */
  readonly caps: () => Caps | null
  readonly settings: Poller
  /** Refreshed only for keys whose scope has roles. */
  readonly roles: Poller
  /** A new object whenever the rules change by which scopes are read. */
  readonly scopeRulesVersion: () => object
}

/** Authenticates callers. */
export interface Authenticator {
  /** The caller that presents this token. Never rejects. */
  readonly authenticate: (token: string) => Promise<AuthenticationResult>
  /** Whether an earlier caller is still valid and unchanged. Never rejects. */
  readonly reauthenticate: (caller: Caller) => Promise<Reauthentication>
}

const UNAVAILABLE = { ok: false, because: 'unavailable' } as const

/** Authenticates callers by the index, or by reads of the API server. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { clock, index, reader, provenAt, settings, roles, scopeRulesVersion } = options
  /** The version of these rules when each caller was authenticated. */
  const rulesOf = new WeakMap<Caller, object>()

  /** The keys that a check may use; null = none are fresh. */
  const freshKeys = async (
    keysToRead: () => readonly { readonly name: string }[],
  ): Promise<KeyLookup | null> => {
    if (isFresh(provenAt(), currentMoment(clock))) return index
    const keys = keysToRead()
    if (keys.length === 0) return null
    return reader.readWithRelated(keys.map(({ name }) => name)).catch(() => null)
  }

  const callerFrom = async (key: AccessKey, known: KeyLookup): Promise<AuthenticationResult> => {
    const caps = options.caps()
    if (caps === null) return UNAVAILABLE
    const verdict = checkKey(key, known, caps, clock.nowMs())
    if (!verdict.ok) return verdict
    const bound = withScope(key, verdict.scope)
    const { identity, scope } = identityAndScopeOf(bound)
    const hasRoles = scope?.some(({ kind }) => kind === 'role') ?? false
    if (hasRoles && !(await roles.refreshed())) return UNAVAILABLE
    if (identity === null) return { ok: false, because: 'noIdentity' }
    const caller = { key: bound, identity, scope, expiresMs: verdict.expiresMs }
    rulesOf.set(caller, scopeRulesVersion())
    return { ok: true, caller }
  }

  const isUnchanged = (before: Caller, now: Caller): boolean =>
    isSameCaller(before, now) && (now.scope === null || rulesOf.get(before) === rulesOf.get(now))

  return {
    authenticate: async (token) => {
      if (!(await settings.refreshed())) return UNAVAILABLE
      const found = index.findBySecret(token)
      const holders = () => (found === UNKNOWN_KEY ? [] : index.sharing(found))
      const known = await freshKeys(holders)
      if (known === null) return UNAVAILABLE
      // Only the eldest key counts, and the key found above may be gone by now. An unknown token takes the
      // same steps: the duration of a refusal must not reveal its reason (threat C1).
      const eldest = known.eldest(found) ?? UNKNOWN_KEY
      return callerFrom(found === UNKNOWN_KEY ? UNKNOWN_KEY : eldest, known)
    },
    reauthenticate: async (caller) => {
      if (!(await settings.refreshed())) return { ok: false, because: 'stale' }
      const known = await freshKeys(() => [caller.key])
      if (known === null) return { ok: false, because: 'stale' }
      const key = known.named(caller.key.name)
      const now = await callerFrom(key?.uid === caller.key.uid ? key : UNKNOWN_KEY, known)
      if (now.ok) return isUnchanged(caller, now.caller) ? now : { ok: false, because: 'changed' }
      return { ok: false, because: REAUTHENTICATION_REASONS[now.because] ?? 'revoked' }
    },
  }
}

/** Keys with the scope that they inherit, by the keys without it. */
const withInheritedScope = new WeakMap<AccessKey, AccessKey>()

/** The key with its effective scope: the same object as long as both are unchanged. */
function withScope(key: AccessKey, scope: Scope | null): AccessKey {
  if (scope === key.scope) return key
  const known = withInheritedScope.get(key)
  if (known?.scope === scope) return known
  const bound = { ...key, scope }
  withInheritedScope.set(key, bound)
  return bound
}

const REAUTHENTICATION_REASONS: Readonly<
  Partial<Record<InvalidKeyReason | 'unavailable', 'expired' | 'stale'>>
> = {
  expired: 'expired',
  unavailable: 'stale',
}
