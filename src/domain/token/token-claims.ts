// The claims of a direct cluster endpoint token (contract 7.1). Pure: signing is in signing/.
import type { Scope } from '../../api/scope.gen.ts'
import { isMap } from '../json/json.ts'

/** Algorithms that kube-apiserver accepts and this program offers (`--token-signing-algorithm`). */
export const SIGNING_ALGORITHMS = ['ES256', 'RS256'] as const

/** One of SIGNING_ALGORITHMS. */
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** The private claim: a stock API server passes it on to a webhook as extras. */
interface PlatformClaim {
  /** Uid of the owning access key, or of the token object without one. */
  readonly uid: string
  /** Name of the same object. */
  readonly name: string
  readonly kind: 'User' | 'Team' | 'Subject' | 'Token'
  /** Compact JSON of the scope, `*` when unrestricted; never empty, extras must be strings. */
  readonly scope: string
}

/** The payload. Times are seconds since the epoch (RFC 7519). */
export interface TokenClaims {
  readonly iss: string
  readonly sub: string
  readonly groups: readonly string[]
  readonly aud: readonly string[]
  /** Uid of the token object: one record of it revokes every signature over it. */
  readonly jti: string
  readonly iat: number
  readonly nbf: number
  readonly exp: number
  readonly token_use: 'direct-cluster-endpoint'
  readonly 'platform.sh': PlatformClaim
}

/** The identity of a token: that of the owning key, or, without an owner, the token itself. */
export interface TokenSubject {
  /** `user:<user>`, `team:<team>`, `subject:<subject>` or `token:<object name>`. */
  readonly identity: string
  /** spec.groups of the owning key. */
  readonly groups: readonly string[]
  /** Name and uid of the owning key, or of the token object without one. */
  readonly name: string
  readonly uid: string
  /** The scope in force: the token's own, else its owner's; null = unrestricted. */
  readonly scope: Scope | null
  /** Whether the owning key, or one above it, has a scope. */
  readonly isOwnerScoped: boolean
}

/** Issuer and times of a token. Times in epoch milliseconds. */
export interface IssueParameters {
  readonly issuer: string
  readonly jti: string
  /** creationTimestamp of the token object: the API server's clock. */
  readonly creationMs: number
  readonly expiresMs: number
}

const KINDS = { user: 'User', team: 'Team', subject: 'Subject', token: 'Token' } as const

/**
 * The claims of a token. The same object under the same owner gives the same claims, so signing again after a crash
 * extends nothing, and one record revokes all signatures (contract 2.4, 7.1).
 */
export function claimsOf(bearer: TokenSubject, issue: IssueParameters): TokenClaims {
  const { identity, groups, name, uid, scope, isOwnerScoped } = bearer
  const kind = identity.slice(0, identity.indexOf(':')) as keyof typeof KINDS
  const issuedSeconds = Math.floor(issue.creationMs / 1000)
  return {
    iss: issue.issuer,
    sub: identity,
    groups: groupsClaimOf(identity, groups),
    aud: audiencesOf(issue.issuer, scope, isOwnerScoped),
    jti: issue.jti,
    iat: issuedSeconds,
    nbf: issuedSeconds,
    exp: Math.floor(issue.expiresMs / 1000),
    token_use: 'direct-cluster-endpoint',
    'platform.sh': { uid, name, kind: KINDS[kind], scope: scopeClaimOf(scope) },
  }
}

/** The groups claim. With the prefix `platform:` of the shipped files, it equals the groups that the gateway sends. */
export const groupsClaimOf = (identity: string, groups: readonly string[]): readonly string[] => [
  'authenticated',
  ...(/^(?:user|team):/.test(identity) ? [identity] : []),
  ...groups.map((group) => `group:${group}`),
]

/** The scope in a claim: compact JSON, `*` when unrestricted. */
export const scopeClaimOf = (scope: Scope | null): string =>
  scope === null ? '*' : JSON.stringify(scope)

/** Parts of audiences: the first for verifiers that enforce scopes only, the second before a cluster's name. */
const SCOPED = '/scoped'
const CLUSTERS = '/clusters/'

/**
 * The audiences of a token. A token whose scope restricts more than the choice of clusters is only for verifiers that
 * enforce scopes; so is every token of a scoped key, because a scope also withholds sensitive requests (contract 7.1,
 * 11.7).
 */
export function audiencesOf(
  issuer: string,
  scope: Scope | null,
  isOwnerScoped: boolean,
): readonly string[] {
  const isConfined = isOwnerScoped || restrictsMoreThanClusters(scope)
  const base = isConfined ? `${issuer}${SCOPED}` : issuer
  const clusters = clusterNames(scope)
  if (clusters.length === 0 || clusters.includes('*')) return [base]
  return [...new Set(clusters)].map((cluster) => `${base}${CLUSTERS}${cluster}`)
}

/**
 * Whether only verifiers that enforce scopes accept a token with these audiences: all of them, at least one.
 *
 * @param audiences the claim, of any type
 */
export function isScopedAudience(audiences: unknown, issuer: string): boolean {
  const base = `${issuer}${SCOPED}`
  const isScoped = (one: unknown): boolean =>
    one === base || (typeof one === 'string' && one.startsWith(`${base}${CLUSTERS}`))
  return Array.isArray(audiences) && audiences.length > 0 && audiences.every(isScoped)
}

function restrictsMoreThanClusters(scope: Scope | null): boolean {
  if (scope === null) return false
  const { clusters: _, ...others } = scope
  return clusterNames(scope).length === 0 || Object.values(others).some(setsSomething)
}

/** The clusters that a scope names; none if one is malformed, so that only verifiers that enforce scopes accept the token. */
function clusterNames(scope: Scope | null): readonly string[] {
  const clusters: unknown = scope?.clusters
  if (!Array.isArray(clusters)) return []
  const names = clusters.map((entry: unknown) =>
    isMap(entry) && typeof entry['cluster'] === 'string' ? entry['cluster'] : null,
  )
  return names.every((name) => name !== null) ? names : []
}

/** false and an empty list set nothing; an unknown value sets something (contract 1.4). */
const setsSomething = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value)

/** Length of that many bytes in base64url, without padding. */
const base64Length = (bytes: number): number => Math.ceil((bytes * 4) / 3)

const SIGNATURE_BYTES: Readonly<Record<SigningAlgorithm, number>> = { ES256: 64, RS256: 384 }
/** The kid is an RFC 7638 thumbprint: 32 bytes in base64url. */
const HEADER_BYTES = JSON.stringify({ alg: 'ES256', kid: 'x'.repeat(43), typ: 'JWT' }).length

/** Length of the signed token in bytes: header, payload and signature with two dots between. */
export const tokenLength = (claims: TokenClaims, algorithm: SigningAlgorithm): number =>
  base64Length(HEADER_BYTES) +
  base64Length(new TextEncoder().encode(JSON.stringify(claims)).length) +
  base64Length(SIGNATURE_BYTES[algorithm]) +
  2

/** Longest token that is signed, in bytes (contract 7.1): a longer one does not fit into headers. */
export const LONGEST_TOKEN_BYTES = 8192

// The issuer of tokens (contract 7.2). Verifiers compare its text byte by byte.

/**
 * Whether the text may be an issuer: a normalised https URL without userinfo, query, fragment and trailing slash
 * (contract 7.2). Normalised, a verifier that parses and prints it gets the same text.
 */
export function isIssuerUrl(text: string): boolean {
  if (!text.startsWith('https://') || text.endsWith('/') || !URL.canParse(text)) return false
  const { href, username, password } = new URL(text)
  if (username !== '' || password !== '' || /[?#]/.test(text)) return false
  return href === text || href === `${text}/`
}

/** The issuer for a platformHost; null when that is no host (contract 7.2). */
export function issuerOfHost(platformHost: string): string | null {
  const text = `https://${platformHost}/oidc`
  if (/\s/.test(text) || !URL.canParse(text)) return null
  const { href, pathname } = new URL(text)
  // Another path: the text had more than a host.
  return pathname === '/oidc' && isIssuerUrl(href) ? href : null
}
