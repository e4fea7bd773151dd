// Authenticates callers, and checks later whether they are still valid (contract 10.3, 10.4). While the index is fresh,
// it decides alone; otherwise each request reads the key from the API server, and is refused if the read fails.
import type { Scope } from '../api/scope.gen.ts'
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import type { Caps } from '../domain/accesskey/lifetime.ts'
import type { KeyLookup } from '../domain/accesskey/owner-chain.ts'
import { type Clock, currentMoment, type Moment } from '../runtime/clock.ts'
import type { Poller } from '../runtime/concurrency/poller.ts'
import { withResult } from '../runtime/concurrency/with-result.ts'
import {
  type Caller,
  identityAndScopeOf,
  identityInTeams,
  isSameCaller,
  type KeyCaller,
} from './caller.ts'
import type { KeyIndex } from './credential-index.ts'
import { checkKey, type InvalidKeyReason, UNKNOWN_KEY } from './key-validity.ts'
import type { LiveKeyReader } from './live-reader.ts'
import { isFresh } from './staleness.ts'

/** The caller, or the reason of the refusal. `unavailable`: no decision is possible now. */
type AuthenticationResult =
  | { readonly ok: true; readonly caller: KeyCaller }
  | {
      readonly ok: false
      readonly because: InvalidKeyReason | 'unavailable'
      /** The key that was presented, for the audit log; null = none that is known. */
      readonly key: AccessKey | null
    }

/**
 * The present state of an earlier caller. `changed`: its identity or scope differs now; `stale`: no decision is
 * possible now.
 */
export type Reauthentication<Of extends Caller = Caller> =
  | { readonly ok: true; readonly caller: Of }
  | { readonly ok: false; readonly because: 'expired' | 'revoked' | 'changed' | 'stale' }

/** Dependencies of createAuthenticator. */
interface AuthenticatorOptions {
  readonly clock: Clock
  readonly index: KeyIndex
  readonly reader: LiveKeyReader
  /** The moment up to which keys, people and teams are proven complete; null = there is no proof. */
  readonly provenAt: () => Moment | null
  /** The caps in force; null until the first settings in force have arrived. */
  readonly caps: () => Caps | null
  readonly settings: Poller
  /** Reads the roles of scopes; refreshed only for keys whose scope has roles. */
  readonly roles: Poller
  /** The version of the rules for scopes: another object after every change of the rules. */
  readonly scopeRulesVersion: () => object
}

/** Authenticates callers. */
export interface Authenticator {
  /** The caller that presents this token, at once while the index is fresh. Never rejects. */
  readonly authenticate: (token: string) => AuthenticationResult | Promise<AuthenticationResult>
  /** Whether an earlier caller is still valid and unchanged, at once while the index is fresh. Never rejects. */
  readonly reauthenticate: (
    caller: KeyCaller,
  ) => Reauthentication<KeyCaller> | Promise<Reauthentication<KeyCaller>>
}

const UNAVAILABLE = { ok: false, because: 'unavailable', key: null } as const

const STALE = { ok: false, because: 'stale' } as const

/** Authenticates callers by the index, or by reads of the API server. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { clock, index, settings } = options
  const callers = createCallers(options)
  const settingsKnown = (): boolean | Promise<boolean> => settings.isFresh() || settings.refreshed()
  return {
    authenticate: (token) =>
      withResult(settingsKnown(), (areKnown) => (areKnown ? authenticated(token) : UNAVAILABLE)),
    reauthenticate: (caller) =>
      withResult(settingsKnown(), (areKnown) => (areKnown ? reauthenticated(caller) : STALE)),
  }

  function authenticated(token: string): AuthenticationResult | Promise<AuthenticationResult> {
    const found = index.findBySecret(token)
    const holders = () => (found === UNKNOWN_KEY ? [] : index.sharing(found))
    const now = currentMoment(clock)
    return withResult(freshKeys(options, now, holders), (keys) => {
      if (keys === null) return UNAVAILABLE
      const nowMs = keys === index ? now.wallMs : clock.nowMs()
      // Only the oldest key counts: the index has found that, but what was read may differ. An unknown token takes the
      // same steps, because the duration of a refusal must not reveal its reason.
      const eldest = keys === index ? found : (keys.eldest(found) ?? UNKNOWN_KEY)
      return callers.callerOf(found === UNKNOWN_KEY ? UNKNOWN_KEY : eldest, keys, nowMs)
    })
  }

  function reauthenticated(
    caller: KeyCaller,
  ): Reauthentication<KeyCaller> | Promise<Reauthentication<KeyCaller>> {
    const fresh = freshKeys(options, currentMoment(clock), () => [caller.key])
    return withResult(fresh, (keys) => {
      if (keys === null) return STALE
      const key = keys.named(caller.key.name)
      const isSame = key?.uid === caller.key.uid
      const current = callers.callerOf(isSame ? key : UNKNOWN_KEY, keys, clock.nowMs())
      return withResult(current, (now) => callers.compared(caller, now))
    })
  }
}

/** The keys to decide by: the index while it is fresh, else keys read now; null = none could be read. */
function freshKeys(
  { index, reader, provenAt }: AuthenticatorOptions,
  now: Moment,
  keysToReread: () => readonly { readonly name: string }[],
): KeyLookup | null | Promise<KeyLookup | null> {
  if (isFresh(provenAt(), now)) return index
  const keys = keysToReread()
  if (keys.length === 0) return null
  return reader.readWithRelated(keys.map(({ name }) => name)).catch(() => null)
}

/** Makes callers of keys, and compares an earlier caller with the present one. */
function createCallers(
  options: Pick<AuthenticatorOptions, 'caps' | 'roles' | 'scopeRulesVersion'>,
) {
  const { caps: currentCaps, roles, scopeRulesVersion } = options
  /** For each caller with a scope, the version of the scope rules when it was authenticated. */
  const rulesVersionOf = new WeakMap<KeyCaller, object>()
  return {
    callerOf: (
      key: AccessKey,
      keys: KeyLookup,
      nowMs: number,
    ): AuthenticationResult | Promise<AuthenticationResult> => {
      const caps = currentCaps()
      if (caps === null) return UNAVAILABLE
      const verdict = checkKey(key, keys, caps, nowMs)
      if (!verdict.ok) return { ...verdict, key: key === UNKNOWN_KEY ? null : key }
      const scopedKey = withScope(key, verdict.scope)
      const { scope } = identityAndScopeOf(scopedKey)
      const teams = keys.people.teamsOf(key.identity ?? '')
      const identity = identityInTeams(scopedKey, teams)
      const accepted = (): AuthenticationResult => {
        if (identity === null) return { ok: false, because: 'noIdentity', key }
        const { expiresMs, staleMs } = verdict
        const stale = staleMs === null ? null : { staleMs }
        const caller = { key: scopedKey, identity, scope, expiresMs, ...stale }
        if (scope !== null) rulesVersionOf.set(caller, scopeRulesVersion())
        return { ok: true, caller }
      }
      const hasRoles = scope?.some(({ kind }) => kind === 'role') ?? false
      if (!hasRoles || roles.isFresh()) return accepted()
      return roles.refreshed().then((isRead) => (isRead ? accepted() : UNAVAILABLE))
    },
    compared: (before: KeyCaller, now: AuthenticationResult): Reauthentication<KeyCaller> => {
      if (!now.ok) return { ok: false, because: REAUTHENTICATION_REASONS[now.because] ?? 'revoked' }
      const { caller } = now
      const isUnchanged =
        isSameCaller(before, caller) &&
        (caller.scope === null || rulesVersionOf.get(before) === rulesVersionOf.get(caller))
      return isUnchanged ? now : { ok: false, because: 'changed' }
    },
  }
}

/** Copies of keys with the scope that they inherit, by the original key. */
const withInheritedScope = new WeakMap<AccessKey, AccessKey>()

/** The key with its effective scope; returns the same object as long as key and scope are unchanged. */
function withScope(key: AccessKey, scope: Scope | null): AccessKey {
  if (scope === key.scope) return key
  const cached = withInheritedScope.get(key)
  if (cached?.scope === scope) return cached
  const scopedKey = { ...key, scope }
  withInheritedScope.set(key, scopedKey)
  return scopedKey
}

const REAUTHENTICATION_REASONS: Readonly<
  Partial<Record<InvalidKeyReason | 'unavailable', 'expired' | 'stale'>>
> = {
  expired: 'expired',
  unavailable: 'stale',
}
