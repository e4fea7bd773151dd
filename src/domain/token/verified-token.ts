// The claims of a direct cluster endpoint token whose signature is sound: what a direct endpoint accepts (contract 7.1,
// 9.2). It is at least as strict as config/direct-endpoint/authentication.yaml, but for the lifetime: that file has the
// operator's --token-max-ttl, which a direct endpoint does not know; here the largest value of that flag counts.
import type { Scope } from '../../api/scope.gen.ts'
import { type Json, type JsonMap, isMap, ownValue, parseJsonMap } from '../json/json.ts'
import { strictJsonError } from '../json/strict-json.ts'
import { LONGEST_TOKEN_TTL_MS } from '../signingkey/signing-key.ts'
import { TOKEN_USE, audiencesIn, kindOfSubject } from './token-claims.ts'

/** The content of a direct cluster endpoint token whose signature and claims are sound (contract 7.1). */
export interface VerifiedToken {
  /** Uid of the token object: revocation is recorded under it. */
  readonly jti: string
  /** `user:<user>`, `team:<team>`, `subject:<subject>` or `token:<object name>`. */
  readonly subject: string
  readonly groups: readonly string[]
  /** Name of the owning access key, or of the token object without one. */
  readonly name: string
  /** The scope as in the claim: compact JSON, `*` when unrestricted. */
  readonly scope: string
  /** Epoch milliseconds. */
  readonly issuedMs: number
  /** Epoch milliseconds; the token is valid before it. */
  readonly expiresMs: number
}

/** The verifier: the issuer that it trusts, and the name of its cluster. */
export interface TokenVerifier {
  readonly issuer: string
  readonly cluster: string
}

/** The token that sound claims describe, with its scope (null = unrestricted); or the claim that is not sound. */
type ReadClaims =
  | { readonly ok: true; readonly token: VerifiedToken; readonly scope: Scope | null }
  | { readonly ok: false; readonly claim: string }

/**
 * Checks all claims that do not depend on the time, and reads them. The values come from JSON.parse after
 * strictJsonError, so names are unique and numbers finite.
 */
export function readClaims(claims: JsonMap, verifier: TokenVerifier): ReadClaims {
  const unsound = CHECKS.find(
    ([name, isSound]) => !isSound(ownValue(claims, name), claims, verifier),
  )
  if (unsound) return { ok: false, claim: unsound[0] }
  const { jti, sub, groups, iat, exp, 'platform.sh': own } = claims as unknown as SoundClaims
  const token = {
    jti,
    subject: sub,
    groups: groups ?? [],
    name: own.name,
    scope: own.scope,
    issuedMs: iat * 1000,
    expiresMs: exp * 1000,
  }
  return { ok: true, token, scope: own.scope === '*' ? null : (parseJsonMap(own.scope) ?? {}) }
}

/** The claims after all checks, as far as they are read. */
interface SoundClaims {
  readonly jti: string
  readonly sub: string
  readonly groups?: readonly string[]
  readonly iat: number
  readonly exp: number
  readonly 'platform.sh': { readonly name: string; readonly scope: string }
}

/** Whether the value of a claim, undefined when absent, is sound. */
type ClaimCheck = (value: Json | undefined, claims: JsonMap, verifier: TokenVerifier) => boolean

const LONGEST_LIFE_SECONDS = LONGEST_TOKEN_TTL_MS / 1000

/** Uids as the API server makes them, as in authentication.yaml. */
const UID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Printable ASCII without spaces: what every server reads the same in an impersonation header. */
const VISIBLE_ASCII = /^[!-~]+$/

const isName = (value: Json | undefined): value is string =>
  typeof value === 'string' && VISIBLE_ASCII.test(value)

const isSeconds: ClaimCheck = (value) => Number.isSafeInteger(value) && Number(value) >= 0

const CHECKS: readonly (readonly [name: string, isSound: ClaimCheck])[] = [
  ['iss', (value, _, { issuer }) => value === issuer],
  [
    'aud',
    (value, _, { issuer, cluster }) => {
      const accepted: readonly unknown[] = audiencesIn(issuer, cluster)
      return Array.isArray(value) && value.some((one) => accepted.includes(one))
    },
  ],
  ['token_use', (value) => value === TOKEN_USE],
  ['jti', (value) => typeof value === 'string' && UID.test(value)],
  ['sub', (value) => isName(value) && kindOfSubject(value) !== null && /:./.test(value)],
  ['groups', (value) => value === undefined || (Array.isArray(value) && value.every(isName))],
  ['iat', isSeconds],
  ['nbf', (value, { iat }) => value === iat],
  [
    'exp',
    (value, claims, verifier) =>
      isSeconds(value, claims, verifier) &&
      Number(value) - Number(claims['iat']) <= LONGEST_LIFE_SECONDS,
  ],
  ['platform.sh', (value, { sub }) => isMap(value) && isName(sub) && isPlatformClaim(value, sub)],
]

function isPlatformClaim(claim: JsonMap, subject: string): boolean {
  const [uid, name, scope] = ['uid', 'name', 'scope'].map((member) => ownValue(claim, member))
  return (
    typeof uid === 'string' &&
    uid !== '' &&
    isName(name) &&
    ownValue(claim, 'kind') === kindOfSubject(subject) &&
    typeof scope === 'string' &&
    isSendableScope(scope) &&
    (scope === '*' || (strictJsonError(scope) === null && parseJsonMap(scope) !== null))
  )
}

/** No control characters, and no space at an end, which the API server would trim. */
const SENDABLE_SCOPE = /^[!-~\u{80}-\u{10ffff}](?:[ -~\u{80}-\u{10ffff}]*[!-~\u{80}-\u{10ffff}])?$/u

/** Whether a scope as JSON can be sent as the value of an impersonation header: it may quote any text. */
export const isSendableScope = (scope: string): boolean => SENDABLE_SCOPE.test(scope)
