// Authenticates the holders of direct cluster endpoint tokens, offline, by what is known of the centre (contract 9.2).
import { hash } from 'node:crypto'
import { parseScope } from '../../domain/scope/authorize.ts'
import { LONGEST_TOKEN_BYTES } from '../../domain/token/token-claims.ts'
import {
  type TokenVerifier,
  type VerifiedToken,
  readClaims,
} from '../../domain/token/verified-token.ts'
import type { Reauthentication } from '../authenticator.ts'
import { AUTHENTICATED_GROUP, type TokenCaller, type UserInfo } from '../caller.ts'
import {
  type DecodedToken,
  type VerificationKey,
  claimsIn,
  decodeToken,
  verificationKey,
} from './compact-jws.ts'
import type { Knowledge } from './issuer-state.ts'
import { createSignatureCheck } from './signature-limiter.ts'

/**
 * Why a token is refused, for metrics; clients learn of `expired`, `stale` and `busy` only. `early`: it is not valid yet;
 * `stale`: what is known of the centre is too old, or there is nothing. `busy`: too many others wait for their check.
 */
export const TOKEN_REFUSALS = [
  'malformed',
  'header',
  'unknownKey',
  'signature',
  'claims',
  'early',
  'revoked',
  'expired',
  'stale',
  'busy',
] as const

/** One of TOKEN_REFUSALS. */
type TokenRefusal = (typeof TOKEN_REFUSALS)[number]

/** The caller, or why there is none. */
type TokenAuthentication =
  | { readonly ok: true; readonly caller: TokenCaller }
  | { readonly ok: false; readonly because: TokenRefusal }

/** Dependencies of createTokenAuthenticator. */
interface TokenAuthenticatorOptions extends TokenVerifier {
  readonly knowledge: () => Knowledge
  /** Asks the issuer for its keys, unless that was done a moment ago. Never rejects. */
  readonly lookForKeys: () => Promise<void>
  /** Epoch milliseconds by CentreClock. */
  readonly nowMs: () => number
  readonly isStale: () => boolean
}

/** Authenticates the holders of tokens. */
export interface TokenAuthenticator {
  /** The caller that presents this token. Never rejects. */
  readonly authenticate: (token: string) => Promise<TokenAuthentication>
  /** Whether an earlier caller is still valid and unchanged, without cryptography. */
  readonly reauthenticate: (caller: TokenCaller) => Reauthentication<TokenCaller>
}

/** Most verified tokens that are remembered. */
const MOST_CACHED = 4096

/** How far nbf may be in the future, in milliseconds: the centre's clock and Date have no common second. */
const EARLY_MS = 60_000

/** Creates an authenticator. */
export function createTokenAuthenticator(options: TokenAuthenticatorOptions): TokenAuthenticator {
  const { knowledge, lookForKeys, nowMs, isStale } = options
  const cache = createCache(knowledge)
  const importKey = createKeyImports()
  const checkSignature = createSignatureCheck()
  /** What a caller was authenticated with. */
  const authenticatedWith = new WeakMap<TokenCaller, { kid: string; prefix: string | null }>()

  /** What depends on the moment: nothing of it is cached. */
  const presentRefusal = (caller: TokenCaller) => {
    const { keys, list } = knowledge()
    // A key may be withdrawn while it verifies.
    if (!keys.keys.has(authenticatedWith.get(caller)?.kid ?? '')) return 'unknownKey'
    if (list?.tokens.has(caller.token.jti)) return 'revoked'
    if (nowMs() >= caller.token.expiresMs) return 'expired'
    return isStale() ? 'stale' : null
  }
  const presentResult = (caller: TokenCaller): TokenAuthentication => {
    const because = presentRefusal(caller)
    return because === null ? { ok: true, caller } : refused(because)
  }

  const keyOf = async ({ kid }: DecodedToken): Promise<VerificationKey | null> => {
    if (!knowledge().keys.keys.has(kid)) await lookForKeys()
    const jwk = knowledge().keys.keys.get(kid)
    // A key that can't be imported after all verifies nothing.
    return jwk ? importKey(jwk).catch(() => null) : null
  }
  const verify = async (decoded: DecodedToken): Promise<TokenCaller | TokenRefusal> => {
    const key = await keyOf(decoded)
    // The key may be newer than what is known.
    if (key === null) return isStale() ? 'stale' : 'unknownKey'
    const isSigned = await checkSignature(key, decoded)
    if (isSigned === null) return 'busy'
    if (!isSigned) return 'signature'
    const claims = claimsIn(decoded)
    if (claims === null) return 'malformed'
    const read = readClaims(claims, options)
    if (!read.ok) return 'claims'
    if (read.token.issuedMs > nowMs() + EARLY_MS) return 'early'
    const { token, scope } = read
    const caller = {
      token,
      identity: userInfoOf(token),
      scope: parseScope(scope),
      expiresMs: token.expiresMs,
    }
    const { projectNamespacePrefix: prefix } = knowledge()
    authenticatedWith.set(caller, { kid: decoded.kid, prefix })
    return caller
  }

  return {
    authenticate: async (token) => {
      if (token.length > LONGEST_TOKEN_BYTES) return refused('malformed')
      const digest = hash('sha256', token, 'base64url')
      const cached = cache.get(digest)
      if (cached) return presentResult(cached)
      const decoded = decodeToken(token)
      if (typeof decoded === 'string') return refused(decoded)
      const caller = await verify(decoded)
      if (typeof caller === 'string') return refused(caller)
      cache.set(digest, caller)
      return presentResult(caller)
    },
    reauthenticate: (caller) => {
      const because = presentRefusal(caller)
      if (because === 'unknownKey') return { ok: false, because: 'revoked' }
      if (because !== null) return { ok: false, because }
      // Rules of a scope may name namespaces by the prefix.
      const { prefix } = authenticatedWith.get(caller) ?? {}
      const isChanged = caller.scope !== null && prefix !== knowledge().projectNamespacePrefix
      return isChanged ? { ok: false, because: 'changed' } : { ok: true, caller }
    },
  }
}

const refused = (because: TokenRefusal): TokenAuthentication => ({ ok: false, because })

/** The user and the groups that a stock API server makes of the token with the shipped authentication.yaml. */
const userInfoOf = ({ subject, groups }: VerifiedToken): UserInfo => ({
  user: `platform:${subject}`,
  groups: [...groups.map((group) => `platform:${group}`), AUTHENTICATED_GROUP],
})

/** Verified tokens by their digest, the latest used last; empty again whenever keys or the prefix change. */
function createCache(knowledge: () => Knowledge) {
  const cached = new Map<string, TokenCaller>()
  let { keys, projectNamespacePrefix: prefix } = knowledge()
  const validate = (): void => {
    const current = knowledge()
    if (current.keys.keys === keys.keys && current.projectNamespacePrefix === prefix) return
    ;({ keys, projectNamespacePrefix: prefix } = current)
    cached.clear()
  }
  return {
    get: (digest: string): TokenCaller | undefined => {
      validate()
      const caller = cached.get(digest)
      if (!caller) return undefined
      cached.delete(digest)
      cached.set(digest, caller)
      return caller
    },
    set: (digest: string, caller: TokenCaller): void => {
      validate()
      cached.set(digest, caller)
      const [oldest] = cached.keys()
      if (cached.size > MOST_CACHED && oldest !== undefined) cached.delete(oldest)
    },
  }
}

/** Imports each key once; a kid is a digest of its key. */
function createKeyImports(): (
  jwk: Parameters<typeof verificationKey>[0],
) => Promise<VerificationKey> {
  const imported = new WeakMap<object, Promise<VerificationKey>>()
  return (jwk) => {
    const known = imported.get(jwk)
    if (known) return known
    const importing = verificationKey(jwk)
    imported.set(jwk, importing)
    return importing
  }
}
