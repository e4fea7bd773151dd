// Parses a DirectClusterEndpointToken into the form that all decisions use, which has no secret.
import type {
  DirectClusterEndpointToken,
  DirectClusterEndpointTokenSpec,
  DirectClusterEndpointTokenStatus,
} from '../../api/directclusterendpointtoken.gen.ts'
import type { Condition, ObjectMeta } from '../../api/objects.ts'
import type { Scope } from '../../api/scope.gen.ts'
import {
  type CredentialObject,
  type KeyRef,
  credentialObjectOf,
  namesKeysWithoutController,
} from '../shared-metadata.ts'
import { type Untyped, fieldsOf, scopeOf, secondsOf, stringOf } from '../json/json.ts'
import { ownedFieldsOf, ownedStatusField } from '../managed-fields.ts'
import { LONGEST_TOKEN_TTL_MS } from '../signingkey/signing-key.ts'
import { parseTimestamp } from '../time.ts'
import { type IssuedToken, parseIssuedToken } from './issued-token.ts'

/** The fields of a token's status that our field manager owns, without fields of other managers. */
export interface PublishedTokenStatus {
  /** null = status has no token; `damaged` = status.token is not what the operator wrote. */
  readonly issued: IssuedToken | 'damaged' | null
  /** Whether another manager owns status.token: our apply can remove the field only after it owns it too. */
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
  /** Seconds; 0 = the default. */
  readonly ttl: number
  /** null = the owner's scope applies; without an owner, the token is unrestricted. */
  readonly scope: Scope | null
  /** Whether owner references name access keys, and none as the controller: the owner is unclear (contract 5.4). */
  readonly lacksController: boolean
  readonly published: PublishedTokenStatus
}

/** Seconds. Fails closed: a malformed ttl means the shortest lifetime, not the default. */
const SHORTEST_TTL = 1

/**
 * Parses an object. Never throws: a value that the schema refuses becomes a scope that grants nothing, the shortest
 * lifetime, or a token that is not ours (contract 10.3).
 */
export function tokenOf(object: DirectClusterEndpointToken): TokenObject {
  const { metadata } = object
  const spec: Untyped<DirectClusterEndpointTokenSpec> = fieldsOf(object.spec)
  const status = fieldsOf(object.status)
  const credential = credentialObjectOf(metadata)
  return {
    ...credential,
    // Malformed references have an owner that does not exist: only well-formed ones come here.
    lacksController: credential.ownerRef === null && namesKeysWithoutController(metadata),
    creationMs: parseTimestamp(metadata.creationTimestamp) ?? 0,
    ttl: secondsOf(spec.ttl) ?? SHORTEST_TTL,
    scope: scopeOf(spec.scope),
    published: publishedOf(metadata, status),
  }
}

/** Uid of the access key that owned the token when it was issued; null without an owner, or before the issue. */
export const issuingKeyUidOf = ({ published }: TokenObject): string | null =>
  published.owner?.uid ?? null

/** Expiry of the issued token, in epoch milliseconds; null when none was issued. */
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
  // The cast is safe: most values are only compared with desired ones, and a wrong type is a difference.
  const ours = ownedStatusField(owned, status as DirectClusterEndpointTokenStatus)
  const ownerFields = fieldsOf(ours('owner'))
  const [ownerName, ownerUid] = [stringOf(ownerFields['name']), stringOf(ownerFields['uid'])]
  const issueFields = {
    expirationTimestamp: ours('expirationTimestamp'),
    keyID: ours('keyID'),
    owner: ownerName && ownerUid ? { name: ownerName, uid: ownerUid } : null,
  }
  return {
    ...issueFields,
    issued: status.token
      ? (claimsMatchingStatus(stringOf(ours('token')) ?? '', uid, issueFields) ?? 'damaged')
      : null,
    isTokenForeign: Boolean(status.token) && !owned.has('status', 'token'),
    issuedTimestamp: ours('issuedTimestamp'),
    observedGeneration: ours('observedGeneration'),
    conditions: owned.conditions(status.conditions),
  }
}

/** The claims of the token; null unless the other fields of status match them, as in a status of the operator. */
function claimsMatchingStatus(
  token: string,
  uid: string,
  {
    expirationTimestamp,
    keyID,
    owner,
  }: Pick<PublishedTokenStatus, 'expirationTimestamp' | 'keyID' | 'owner'>,
): IssuedToken | null {
  const issued = parseIssuedToken(token, uid)
  const isConsistent =
    keyID !== undefined &&
    issued?.expiresMs === parseTimestamp(expirationTimestamp) &&
    issued.identity.startsWith('token:') === (owner === null)
  return isConsistent ? issued : null
}
