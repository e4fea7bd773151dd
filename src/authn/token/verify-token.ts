// Verifies a token's signature and claims by the issuer's public keys (contract 9.2). Its revocation and its end are not
// looked up here: they depend on the moment.
import { parseScope } from '../../domain/scope/authorize.ts'
import {
  readClaims,
  type TokenVerifier,
  type VerifiedToken,
} from '../../domain/token/verified-token.ts'
import type { Log } from '../../runtime/log.ts'
import { AUTHENTICATED_GROUP, type TokenCaller, type UserInfo } from '../caller.ts'
import {
  claimsIn,
  type DecodedToken,
  type VerificationKey,
  verificationKey,
} from './compact-jws.ts'
import type { IssuerState } from './issuer-state.ts'
import { createSignatureCheck } from './signature-limiter.ts'

/**
 * Why a token is refused, for metrics; clients learn of `expired`, `stale` and `busy` only. `early`: it is not valid yet;
 * `stale`: the state of the issuer is too old or empty. `busy`: too many other tokens wait for their check.
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
export type TokenRefusal = (typeof TOKEN_REFUSALS)[number]

/** Dependencies of a verification. */
export interface VerificationOptions extends TokenVerifier {
  readonly state: () => IssuerState
  /** Polls the issuer for its keys, unless that was done a moment ago. Never rejects. */
  readonly refreshKeys: () => Promise<void>
  /** Epoch milliseconds by IssuerClock. */
  readonly nowMs: () => number
  readonly isStale: () => boolean
  readonly log: Log
}

/** Verifies a token. Resolves with its holder, or with why it is refused; never rejects. */
type Verification = (decoded: DecodedToken) => Promise<TokenCaller | TokenRefusal>

/** How far nbf may be in the future, in milliseconds: the platform's clock and Date have no common second. */
const EARLY_MS = 60_000

/** Creates a verification. */
export function createVerification(options: VerificationOptions): Verification {
  const { state, refreshKeys, nowMs, isStale, log } = options
  const importKey = createKeyImports()
  const checkSignature = createSignatureCheck()

  const keyOf = async ({ kid }: DecodedToken): Promise<VerificationKey | null> => {
    if (!state().keys.keys.has(kid)) await refreshKeys()
    const jwk = state().keys.keys.get(kid)
    // A key that can't be imported after all verifies nothing.
    return jwk ? importKey(jwk).catch(() => null) : null
  }
  return async (decoded) => {
    const key = await keyOf(decoded)
    // The key may be newer than the state.
    if (key === null) return isStale() ? 'stale' : 'unknownKey'
    const isSigned = await checkSignature(key, decoded)
    if (isSigned === null) return 'busy'
    if (!isSigned) return 'signature'
    const claims = claimsIn(decoded)
    if (claims === null) return 'malformed'
    const read = readClaims(claims, options)
    if (!read.ok) {
      log.debug({ because: 'claims', claim: read.claim }, 'token refused')
      return 'claims'
    }
    if (read.token.issuedMs > nowMs() + EARLY_MS) return 'early'
    const { token, scope } = read
    const { expiresMs } = token
    return { token, identity: userInfoOf(token), scope: parseScope(scope), expiresMs }
  }
}

/** The user and the groups that a stock API server makes of the token with the shipped authentication.yaml. */
const userInfoOf = ({ subject, groups }: VerifiedToken): UserInfo => ({
  user: `platform:${subject}`,
  groups: [...groups.map((group) => `platform:${group}`), AUTHENTICATED_GROUP],
})

/** Imports each key once; a kid is a digest of its key. */
function createKeyImports(): (
  jwk: Parameters<typeof verificationKey>[0],
) => Promise<VerificationKey> {
  const imported = new WeakMap<object, Promise<VerificationKey>>()
  return (jwk) => {
    const earlier = imported.get(jwk)
    if (earlier) return earlier
    const importing = verificationKey(jwk)
    imported.set(jwk, importing)
    return importing
  }
}
