// Authenticates the holders of direct cluster endpoint tokens, offline, by the accepted documents of the issuer
// (contract 9.2).
import { hash } from 'node:crypto'
import { LONGEST_TOKEN_BYTES } from '../../domain/token/token-claims.ts'
import type { Reauthentication } from '../authenticator.ts'
import type { TokenCaller } from '../caller.ts'
import { decodeToken } from './compact-jws.ts'
import type { IssuerState } from './issuer-state.ts'
import { createVerification, type TokenRefusal, type VerificationOptions } from './verify-token.ts'

/** The caller, or the reason of the refusal. */
type TokenAuthentication =
  | { readonly ok: true; readonly caller: TokenCaller }
  | { readonly ok: false; readonly because: TokenRefusal }

/** Authenticates the holders of tokens. */
export interface TokenAuthenticator {
  /** The caller that presents this token. Never rejects. */
  readonly authenticate: (token: string) => Promise<TokenAuthentication>
  /** Whether an earlier caller is still valid and unchanged, without cryptography. */
  readonly reauthenticate: (caller: TokenCaller) => Reauthentication<TokenCaller>
}

/** Largest number of verified tokens in the cache. */
const MOST_CACHED = 4096

/** Creates an authenticator. */
export function createTokenAuthenticator(options: VerificationOptions): TokenAuthenticator {
  const { state, nowMs, isStale } = options
  const cache = createCache(state)
  const verify = createVerification(options)
  /** The key and the prefix by which a caller was authenticated. */
  const authenticatedWith = new WeakMap<TokenCaller, { kid: string; prefix: string | null }>()

  /** Depends on the moment, so nothing of it is cached. */
  const presentRefusal = (caller: TokenCaller) => {
    const { keys, list } = state()
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
      const { projectNamespacePrefix: prefix } = state()
      authenticatedWith.set(caller, { kid: decoded.kid, prefix })
      cache.set(digest, caller)
      return presentResult(caller)
    },
    reauthenticate: (caller) => {
      const because = presentRefusal(caller)
      if (because === 'unknownKey') return { ok: false, because: 'revoked' }
      if (because !== null) return { ok: false, because }
      // Rules of a scope may name namespaces by the prefix.
      const { prefix } = authenticatedWith.get(caller) ?? {}
      const isChanged = caller.scope !== null && prefix !== state().projectNamespacePrefix
      return isChanged ? { ok: false, because: 'changed' } : { ok: true, caller }
    },
  }
}

const refused = (because: TokenRefusal): TokenAuthentication => ({ ok: false, because })

/** Verified tokens by their digest, the latest used last; empty again whenever keys or the prefix change. */
function createCache(state: () => IssuerState) {
  const cached = new Map<string, TokenCaller>()
  let { keys, projectNamespacePrefix: prefix } = state()
  const validate = (): void => {
    const current = state()
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
