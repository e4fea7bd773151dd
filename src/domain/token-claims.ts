// What a direct cluster endpoint token says (contract 7.1). Pure: who signs it is another's affair.
import type { Scope } from '../api/scope.gen.ts'
import { isMap } from './config/json.ts'

/** Algorithms that kube-apiserver accepts and this program offers (`--token-signing-algorithm`). */
export const SIGNING_ALGORITHMS = ['ES256', 'RS256'] as const

/** One of SIGNING_ALGORITHMS. */
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** The private claim: what of a token a stock API server hands on to a webhook. */
export interface PlatformClaim {
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

/** Whom a token speaks for: what a key gives, or, without an owner, the token itself. */
export interface Bearer {
  /** `user:<user>`, `team:<team>`, `subject:<subject>` or `token:<object name>`. */
  readonly identity: string
  /** spec.groups of the owning key. */
  readonly groups: readonly string[]
  /** Name and uid of the owning key, or of the token object. */
  readonly name: string
  readonly uid: string
  /** The scope in force: the token's own, or else its owner's; null = unrestricted. */
  readonly scope: Scope | null
  /** Whether the owning key, or one above it, has a scope. */
  readonly isOwnerScoped: boolean
}

/** When and by whom a token is issued. Times in epoch milliseconds. */
export interface Issue {
  readonly issuer: string
  readonly jti: string
  /** creationTimestamp of the token object: the API server's clock. */
  readonly creationMs: number
  readonly expiresMs: number
}

const KINDS = { user: 'User', team: 'Team', subject: 'Subject', token: 'Token' } as const

/**
 * The claims of a token. The same object under the same owner gives the same claims, so signing
 * anew after a crash extends nothing and one record revokes all signatures (contract 2.4, 7.1).
 */
export function claimsOf(bearer: Bearer, issue: Issue): TokenClaims {
  const { identity, groups, name, uid, scope, isOwnerScoped } = bearer
  const kind = identity.slice(0, identity.indexOf(':')) as keyof typeof KINDS
  const issuedSeconds = Math.floor(issue.creationMs / 1000)
  return {
    iss: issue.issuer,
    sub: identity,
    groups: groupsOf(identity, groups),
    aud: audiencesOf(issue.issuer, scope, isOwnerScoped),
    jti: issue.jti,
    iat: issuedSeconds,
    nbf: issuedSeconds,
    exp: Math.floor(issue.expiresMs / 1000),
    token_use: 'direct-cluster-endpoint',
    'platform.sh': { uid, name, kind: KINDS[kind], scope: scopeText(scope) },
  }
}

/** With the prefix `platform:` of the shipped files these are the groups that the gateway sends. */
export const groupsOf = (identity: string, groups: readonly string[]): readonly string[] => [
  'authenticated',
  ...(/^(?:user|team):/.test(identity) ? [identity] : []),
  ...groups.map((group) => `group:${group}`),
]

/** The scope as claims carry it: compact JSON, `*` when nothing is restricted. */
export const scopeText = (scope: Scope | null): string =>
  scope === null ? '*' : JSON.stringify(scope)

/** What follows the issuer in audiences that only verifiers of scopes list, and before a cluster in any. */
const SCOPED = '/scoped'
const CLUSTERS = '/clusters/'

/**
 * Who may accept the token. A scope that restricts more than the choice of clusters goes to verifiers that enforce
 * scopes, and to no others; so does whatever comes from a scoped key, which withholds more (contract 7.1, 11.7).
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
 * Whether only verifiers that enforce scopes take a token with these audiences: there are some, and each
 * is one of theirs.
 *
 * @param audiences the claim, whatever it is
 */
export function isConfinedTo(audiences: unknown, issuer: string): boolean {
  const base = `${issuer}${SCOPED}`
  const isOfTheirs = (one: unknown): boolean =>
    one === base || (typeof one === 'string' && one.startsWith(`${base}${CLUSTERS}`))
  return Array.isArray(audiences) && audiences.length > 0 && audiences.every(isOfTheirs)
}

function restrictsMoreThanClusters(scope: Scope | null): boolean {
  if (scope === null) return false
  const { clusters: _, ...others } = scope
  return clusterNames(scope).length === 0 || Object.values(others).some(setsSomething)
}

/** The clusters that a scope names; none where one of them can't be read, so that only verifiers of scopes take it. */
function clusterNames(scope: Scope | null): readonly string[] {
  const clusters: unknown = scope?.clusters
  if (!Array.isArray(clusters)) return []
  const names = clusters.map((entry: unknown) =>
    isMap(entry) && typeof entry['cluster'] === 'string' ? entry['cluster'] : null,
  )
  return names.every((name) => name !== null) ? names : []
}

/** false and an empty list set nothing; what this version does not know does (contract 1.4). */
const setsSomething = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value)

/** Bytes of base64url of so many bytes, without padding. */
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

/** Longest token that is signed, in bytes (contract 7.1): longer ones do not fit into headers. */
export const LONGEST_TOKEN = 8192
