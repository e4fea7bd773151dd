// The view of a DirectClusterEndpointToken that all decisions use. It holds no secret.
import type {
  DirectClusterEndpointToken,
  DirectClusterEndpointTokenSpec,
  DirectClusterEndpointTokenStatus,
} from '../../api/directclusterendpointtoken.gen.ts'
import type { Condition, ObjectMeta } from '../../api/objects.ts'
import type { Scope } from '../../api/scope.gen.ts'
import { type CredentialObject, type KeyRef, credentialObjectOf } from '../credential-object.ts'
import { type Untyped, fieldsOf, parseJsonMap, scopeOf, secondsOf, stringOf } from '../json/json.ts'
import { ownedFieldsOf, ownedStatusField } from '../managed-fields.ts'
import { LONGEST_TOKEN_TTL_MS } from '../signingkey/signing-key.ts'
import { parseTimestamp } from '../time.ts'
import { isScopedAudience } from './token-claims.ts'

/** The fields of a token's status that our field manager owns; fields of other managers are left out. */
export interface PublishedTokenStatus {
  /** null = status has no token; `damaged` = it has another value than the operator wrote. */
  readonly issued: IssuedToken | 'damaged' | null
  /** Another manager owns status.token: our apply can not remove it before it owns it. */
  readonly isTokenForeign: boolean
  readonly expirationTimestamp: string | undefined
  readonly issuedTimestamp: string | undefined
  readonly keyID: string | undefined
  readonly owner: KeyRef | null
  readonly observedGeneration: number | undefined
  readonly conditions: readonly Condition[]
}

/** A token object without its token. */
export interface TokenObject extends CredentialObject {
  /** creationTimestamp in epoch milliseconds: iat and nbf (contract 2.4). */
  readonly creationMs: number
  /** Seconds; absent or 0 = the default. */
  readonly ttl: number
  /** null = the owner's scope, or, without an owner, unrestricted. */
  readonly scope: Scope | null
  readonly published: PublishedTokenStatus
}

/** Fails closed: a malformed lifetime is the shortest, not the default. */
const SHORTEST_TTL = 1

/**
 * The view of an object. A value that the schema refuses never throws: it is read as a scope that grants nothing, the
 * shortest life, or a token that is not ours (contract 10.3).
 */
export function tokenOf(object: DirectClusterEndpointToken): TokenObject {
  const { metadata } = object
  const spec: Untyped<DirectClusterEndpointTokenSpec> = fieldsOf(object.spec)
  const status = fieldsOf(object.status)
  return {
    ...credentialObjectOf(metadata),
    creationMs: parseTimestamp(metadata.creationTimestamp) ?? 0,
    ttl: secondsOf(spec.ttl) ?? SHORTEST_TTL,
    scope: scopeOf(spec.scope),
    published: publishedOf(metadata, status),
  }
}

/** Uid of the access key that the token was issued under; null when there is none, or no token yet. */
export const issuingKeyUidOf = ({ published }: TokenObject): string | null =>
  published.owner?.uid ?? null

/** Expiry of the token that was issued, in epoch milliseconds; null when none was issued. */
export function issuedTokenEndMs({ published, creationMs }: TokenObject): number | null {
  const { issued, expirationTimestamp } = published
  if (issued !== null && issued !== 'damaged') return issued.expiresMs
  const publishedMs = parseTimestamp(expirationTimestamp)
  if (publishedMs !== null) return publishedMs
  return issued === 'damaged' ? creationMs + LONGEST_TOKEN_TTL_MS : null
}

function publishedOf(
  { uid, managedFields = [] }: ObjectMeta,
  status: Untyped<DirectClusterEndpointTokenStatus>,
): PublishedTokenStatus {
  const owned = ownedFieldsOf(managedFields, 'status')
  // Mostly compared with the desired values: a value of another type is different from them.
  const ours = ownedStatusField(owned, status as DirectClusterEndpointTokenStatus)
  const { name, uid: ofOwner } = fieldsOf(ours('owner'))
  const [ownerName, ownerUid] = [stringOf(name), stringOf(ofOwner)]
  const beside = {
    expirationTimestamp: ours('expirationTimestamp'),
    keyID: ours('keyID'),
    owner: ownerName && ownerUid ? { name: ownerName, uid: ownerUid } : null,
  }
  return {
    ...beside,
    issued: status.token
      ? (issuedIn(stringOf(ours('token')) ?? '', uid, beside) ?? 'damaged')
      : null,
    isTokenForeign: Boolean(status.token) && !owned.has('status', 'token'),
    issuedTimestamp: ours('issuedTimestamp'),
    observedGeneration: ours('observedGeneration'),
    conditions: owned.conditions(status.conditions),
  }
}

/** The claims of the token; null unless it matches the fields beside it in status, as the operator wrote them. */
function issuedIn(
  token: string,
  uid: string,
  {
    expirationTimestamp,
    keyID,
    owner,
  }: Pick<PublishedTokenStatus, 'expirationTimestamp' | 'keyID' | 'owner'>,
): IssuedToken | null {
  const issued = parseIssuedToken(token, uid)
  const isWhole =
    keyID !== undefined &&
    issued?.expiresMs === parseTimestamp(expirationTimestamp) &&
    issued.identity.startsWith('token:') === (owner === null)
  return isWhole ? issued : null
}

// The claims of the signed token in status.

/** The claims of an issued token that later decisions use. The token itself is not kept. */
export interface IssuedToken {
  readonly identity: string
  /** The groups claim as `canonicalGroups` writes it, compared as a whole. */
  readonly groups: string
  /** The scope claim: compact JSON, `*` when unrestricted. */
  readonly scope: string
  /** Whether only verifiers that enforce scopes accept it (contract 7.1). */
  readonly isConfined: boolean
  readonly expiresMs: number
}

/**
 * Parses a token of the operator without verification: only the operator may write status. null when it is malformed,
 * or was issued for another object.
 *
 * @param jti uid of the object that holds it
 */
export function parseIssuedToken(token: string, jti: string): IssuedToken | null {
  const [, payload = ''] = token.split('.')
  const claims = decoded(payload)
  if (claims?.['jti'] !== jti) return null
  const { sub, groups, exp, iss, aud } = claims
  const scope = (claims['platform.sh'] as { readonly scope?: unknown } | null | undefined)?.scope
  const isWhole = typeof sub === 'string' && isScopeText(scope) && Number.isSafeInteger(exp)
  if (!isWhole || !Array.isArray(groups)) return null
  const isConfined = isScopedAudience(aud, String(iss))
  return {
    identity: sub,
    groups: canonicalGroups(groups),
    scope,
    isConfined,
    expiresMs: Number(exp) * 1000,
  }
}

/** Groups as one text: equal for equal sets, whatever their order. */
export const canonicalGroups = (groups: readonly string[]): string =>
  [...new Set(groups)].toSorted().join('\n')

/** The scope that a token was issued with; null = unrestricted. */
export const issuedScopeOf = ({ scope }: IssuedToken): Scope | null =>
  scope === '*' ? null : (JSON.parse(scope) as Scope)

const isScopeText = (text: unknown): text is string =>
  text === '*' || (typeof text === 'string' && parseJsonMap(text) !== null)

function decoded(payload: string): Readonly<Record<string, unknown>> | null {
  try {
    const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    return parseJsonMap(new TextDecoder().decode(bytes))
  } catch {
    return null
  }
}
