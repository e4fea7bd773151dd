// The claims of a direct cluster endpoint token (contract 7.1). Pure: signing is in signing/.
import type { Scope } from '../../api/scope.gen.ts'
import { isMap } from '../json/json.ts'
import { usernameIn } from '../people/user.ts'
import { NO_TEAMS } from '../people/people.ts'

/** Signing algorithms that this program offers (`--token-signing-algorithm`); kube-apiserver accepts them all. */
export const SIGNING_ALGORITHMS = ['ES256', 'RS256'] as const

/** One of SIGNING_ALGORITHMS. */
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** The claim `platform.sh`: a stock API server passes it to webhooks as extras of the user. */
interface PlatformClaim {
  /** Uid of the owning access key, or of the token object without one. */
  readonly uid: string
  /** Name of the object that has this uid. */
  readonly name: string
  readonly kind: 'User' | 'Team' | 'Subject' | 'Token'
  /** The scope as compact JSON, `*` when unrestricted: extras must be non-empty strings. */
  readonly scope: string
}

/** The payload of a token. Times are seconds since the epoch (RFC 7519). */
export interface TokenClaims {
  readonly iss: string
  readonly sub: string
  readonly groups: readonly string[]
  readonly aud: readonly string[]
  /** Uid of the token object: one revocation record covers all tokens ever signed for that object. */
  readonly jti: string
  readonly iat: number
  readonly nbf: number
  readonly exp: number
  readonly token_use: typeof TOKEN_USE
  readonly 'platform.sh': PlatformClaim
}

/** The subject of a token: the access key that owns it, or the token object itself when it has no owner. */
export interface TokenSubject {
  /** `user:<user>`, `team:<team>`, `subject:<subject>` or `token:<object name>`. */
  readonly identity: string
  /** spec.groups of the owning key. */
  readonly groups: readonly string[]
  /** The teams of the user, by name; empty for a subject of another kind. */
  readonly teams: readonly string[]
  /** Name and uid of the owning key, or of the token object without one. */
  readonly name: string
  readonly uid: string
  /** The scope in force: the token's own, or else its owner's; null = unrestricted. */
  readonly scope: Scope | null
  /** Whether the owning key, or an owner of that key, has a scope. */
  readonly isOwnerScoped: boolean
}

/** Issuer, id and times of a token. Times are epoch milliseconds. */
interface IssueParameters {
  readonly issuer: string
  readonly jti: string
  /** creationTimestamp of the token object, by the API server's clock. */
  readonly creationMs: number
  readonly expiresMs: number
}

/** The value of TokenClaims.token_use: only verifiers of the direct endpoints accept it. */
export const TOKEN_USE = 'direct-cluster-endpoint'

const KINDS = { user: 'User', team: 'Team', subject: 'Subject', token: 'Token' } as const

/** The kind of a subject, from the word before its first colon; null for any other text. */
export function kindOfSubject(subject: string): PlatformClaim['kind'] | null {
  const word = subject.slice(0, Math.max(subject.indexOf(':'), 0))
  return Object.hasOwn(KINDS, word) ? KINDS[word as keyof typeof KINDS] : null
}

/**
 * The claims of a token. The same object with the same owner always gives the same claims, so signing again after a
 * crash extends no lifetime, and one record revokes every signed copy (contract 2.4, 7.1).
 */
export function claimsOf(subject: TokenSubject, issue: IssueParameters): TokenClaims {
  const { identity, groups, teams, name, uid, scope, isOwnerScoped } = subject
  const kind = identity.slice(0, identity.indexOf(':')) as keyof typeof KINDS
  const issuedSeconds = Math.floor(issue.creationMs / 1000)
  return {
    iss: issue.issuer,
    sub: identity,
    groups: groupsClaimOf(identity, groups, teams),
    aud: audiencesOf(issue.issuer, scope, isOwnerScoped),
    jti: issue.jti,
    iat: issuedSeconds,
    nbf: issuedSeconds,
    exp: Math.floor(issue.expiresMs / 1000),
    token_use: TOKEN_USE,
    'platform.sh': { uid, name, kind: KINDS[kind], scope: scopeClaimOf(scope) },
  }
}

/**
 * The groups claim. With the prefix `platform:` of the shipped manifests it equals the groups that the gateway sends.
 */
export const groupsClaimOf = (
  identity: string,
  groups: readonly string[],
  teams: readonly string[],
): readonly string[] => [
  'authenticated',
  ...(/^(?:user|team):/.test(identity) ? [identity] : []),
  ...teams.map((team) => `${TEAM_PREFIX}${team}`),
  ...groups.map((group) => `group:${group}`),
]

/** Begins the groups of teams. */
const TEAM_PREFIX = 'team:'

/** The groups claim of a token, taken apart. */
interface ClaimedGroups {
  /** The user's teams at issue, by name; of a team's own token none. */
  readonly teams: readonly string[]
  /** All other groups. */
  readonly others: readonly string[]
}

/** Takes a groups claim apart, whatever its entries are. */
export function claimedGroupsOf(identity: string, groups: readonly unknown[]): ClaimedGroups {
  const texts = groups.map(String)
  const isOfTeam = (group: string): boolean => group.startsWith(TEAM_PREFIX)
  if (usernameIn(identity) === null || !texts.some(isOfTeam))
    return { teams: NO_TEAMS, others: texts }
  return {
    teams: texts.filter(isOfTeam).map((group) => group.slice(TEAM_PREFIX.length)),
    others: texts.filter((group) => !isOfTeam(group)),
  }
}

/** The scope as text of a claim: compact JSON, `*` when unrestricted. */
export const scopeClaimOf = (scope: Scope | null): string =>
  scope === null ? '*' : JSON.stringify(scope)

/** Suffix of audiences that only verifiers which enforce scopes accept. */
const SCOPED_SUFFIX = '/scoped'
/** Precedes the name of a cluster in an audience. */
const CLUSTER_INFIX = '/clusters/'

/**
 * The audiences of a token. Only verifiers that enforce scopes accept a token whose scope restricts more than the
 * choice of clusters, or whose key is scoped: any scope also withholds sensitive requests (contract 7.1, 11.7).
 */
export function audiencesOf(
  issuer: string,
  scope: Scope | null,
  isOwnerScoped: boolean,
): readonly string[] {
  const needsScopedAudience = isOwnerScoped || restrictsMoreThanClusters(scope)
  const base = needsScopedAudience ? `${issuer}${SCOPED_SUFFIX}` : issuer
  const clusters = clusterNames(scope)
  if (clusters.length === 0 || clusters.includes('*')) return [base]
  return [...new Set(clusters)].map((cluster) => `${base}${CLUSTER_INFIX}${cluster}`)
}

/** The audiences of which a verifier in this cluster accepts each, if it enforces scopes (contract 9.2). */
export const audiencesIn = (issuer: string, cluster: string): readonly string[] =>
  [issuer, `${issuer}${SCOPED_SUFFIX}`].flatMap((base) => [
    base,
    `${base}${CLUSTER_INFIX}${cluster}`,
  ])

/**
 * Whether only verifiers that enforce scopes accept a token with these audiences: there is at least one, and all are
 * scoped.
 *
 * @param audiences the claim `aud`, of any type
 */
export function isScopedAudience(audiences: unknown, issuer: string): boolean {
  const base = `${issuer}${SCOPED_SUFFIX}`
  const isScoped = (one: unknown): boolean =>
    one === base || (typeof one === 'string' && one.startsWith(`${base}${CLUSTER_INFIX}`))
  return Array.isArray(audiences) && audiences.length > 0 && audiences.every(isScoped)
}

function restrictsMoreThanClusters(scope: Scope | null): boolean {
  if (scope === null) return false
  const { clusters: _, ...others } = scope
  return clusterNames(scope).length === 0 || Object.values(others).some(isFieldSet)
}

/** The clusters that a scope names; none if an entry is malformed, so that the token gets a scoped audience. */
function clusterNames(scope: Scope | null): readonly string[] {
  const clusters: unknown = scope?.clusters
  if (!Array.isArray(clusters)) return []
  const names = clusters.map((entry: unknown) =>
    isMap(entry) && typeof entry['cluster'] === 'string' ? entry['cluster'] : null,
  )
  return names.every((name) => name !== null) ? names : []
}

/** Whether a field of a scope is set: false and an empty list are not, an unknown value is (contract 1.4). */
const isFieldSet = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value)

/** Length of so many bytes in base64url, without padding. */
const base64UrlLength = (bytes: number): number => Math.ceil((bytes * 4) / 3)

const SIGNATURE_BYTES: Readonly<Record<SigningAlgorithm, number>> = { ES256: 64, RS256: 384 }
/** The kid is an RFC 7638 thumbprint: 32 bytes in base64url. */
const HEADER_BYTES = JSON.stringify({ alg: 'ES256', kid: 'x'.repeat(43), typ: 'JWT' }).length

/** Length of the signed token in bytes: header, payload and signature, joined by two dots. */
export const tokenLength = (claims: TokenClaims, algorithm: SigningAlgorithm): number =>
  base64UrlLength(HEADER_BYTES) +
  base64UrlLength(new TextEncoder().encode(JSON.stringify(claims)).length) +
  base64UrlLength(SIGNATURE_BYTES[algorithm]) +
  2

/** Maximum length of a token in bytes (contract 7.1): a longer one might not fit into HTTP headers. */
export const LONGEST_TOKEN_BYTES = 8192

// The issuer of tokens (contract 7.2). Verifiers compare its text byte by byte.

/** The member of the discovery document with the setting projectNamespacePrefix, for direct endpoints (contract 9.2). */
export const PROJECT_PREFIX_MEMBER = 'project_namespace_prefix'

/**
 * Whether the text may be an issuer: an https URL without userinfo, query, fragment and trailing slash (contract 7.2).
 * It must be normalized: a verifier that parses and prints the URL must get the same text.
 */
export function isIssuerUrl(text: string): boolean {
  if (!text.startsWith('https://') || text.endsWith('/') || !URL.canParse(text)) return false
  const { href, username, password } = new URL(text)
  if (username !== '' || password !== '' || /[?#]/.test(text)) return false
  return href === text || href === `${text}/`
}

/** The issuer for a platformHost; null when the text is not a host (contract 7.2). */
export function issuerOfHost(platformHost: string): string | null {
  const text = `https://${platformHost}/oidc`
  if (/\s/.test(text) || !URL.canParse(text)) return null
  const { href, pathname } = new URL(text)
  // With any other path, platformHost contained more than a host.
  return pathname === '/oidc' && isIssuerUrl(href) ? href : null
}
