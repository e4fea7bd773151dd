// The slim view of a DirectClusterEndpointToken on which every decision stands. It holds no secret.
import type {
  DirectClusterEndpointToken,
  DirectClusterEndpointTokenStatus,
} from '../api/directclusterendpointtoken.gen.ts'
import type { Condition, ObjectMeta } from '../api/meta.ts'
import type { Scope } from '../api/scope.gen.ts'
import { type CredentialObject, credentialObjectOf } from './credential-object.ts'
import { type IssuedToken, readIssued } from './issued-token.ts'
import type { KeyRef } from './key-ref.ts'
import { oursIn, ownedBy } from './ownership.ts'
import { LONGEST_TOKEN_TTL_MS } from './signing-key.ts'
import { parseTimestamp } from './time.ts'

/** What a token's status says as ours; what others wrote into it is left out. */
export interface PublishedToken {
  /** null = status holds no token; `damaged` = it holds something else than what we put there. */
  readonly issued: IssuedToken | 'damaged' | null
  /** Somebody else wrote status.token: no apply of ours takes it out before it is ours. */
  readonly isTokenForeign: boolean
  readonly expirationTimestamp: string | undefined
  readonly issuedTimestamp: string | undefined
  readonly keyID: string | undefined
  readonly owner: KeyRef | null
  readonly observedGeneration: number | undefined
  readonly conditions: readonly Condition[]
}

/** A token object without its token. */
export interface Token extends CredentialObject {
  /** creationTimestamp in epoch milliseconds: iat and nbf (contract 2.4). */
  readonly creationMs: number
  /** Seconds; absent or 0 = the default. */
  readonly ttl: number
  /** null = the owner's scope, or, without an owner, unrestricted. */
  readonly scope: Scope | null
  readonly published: PublishedToken
}

/** The view of an object. */
export function tokenOf(object: DirectClusterEndpointToken): Token {
  const { metadata, spec = {}, status = {} } = object
  return {
    ...credentialObjectOf(metadata),
    creationMs: parseTimestamp(metadata.creationTimestamp) ?? 0,
    ttl: spec.ttl ?? 0,
    scope: spec.scope ?? null,
    published: publishedOf(metadata, status),
  }
}

/** Uid of the access key that the token was issued under; null when it was not, or under none. */
export const issuedUnder = ({ published }: Token): string | null => published.owner?.uid ?? null

/** Whether a token was ever out, and when it ends by itself; null when none was. */
export function outUntilMs({ published, creationMs }: Token): number | null {
  const { issued, expirationTimestamp } = published
  if (issued !== null && issued !== 'damaged') return issued.expiresMs
  const publishedMs = parseTimestamp(expirationTimestamp)
  if (publishedMs !== null) return publishedMs
  return issued === 'damaged' ? creationMs + LONGEST_TOKEN_TTL_MS : null
}

function publishedOf(
  { uid, managedFields = [] }: ObjectMeta,
  status: DirectClusterEndpointTokenStatus,
): PublishedToken {
  const owned = ownedBy(managedFields, 'status')
  const ours = oursIn(owned, status)
  const { name: ownerName, uid: ownerUid } = ours('owner') ?? {}
  const beside = {
    expirationTimestamp: ours('expirationTimestamp'),
    keyID: ours('keyID'),
    owner: ownerName && ownerUid ? { name: ownerName, uid: ownerUid } : null,
  }
  return {
    ...beside,
    issued: status.token ? (issuedIn(ours('token') ?? '', uid, beside) ?? 'damaged') : null,
    isTokenForeign: Boolean(status.token) && !owned.has('status', 'token'),
    issuedTimestamp: ours('issuedTimestamp'),
    observedGeneration: ours('observedGeneration'),
    conditions: owned.conditions(status.conditions ?? []),
  }
}

/** What the token says. null where we did not put it there, with what stands beside it, as a whole. */
function issuedIn(
  token: string,
  uid: string,
  {
    expirationTimestamp,
    keyID,
    owner,
  }: Pick<PublishedToken, 'expirationTimestamp' | 'keyID' | 'owner'>,
): IssuedToken | null {
  const issued = readIssued(token, uid)
  const isWhole =
    keyID !== undefined &&
    issued?.expiresMs === parseTimestamp(expirationTimestamp) &&
    issued.identity.startsWith('token:') === (owner === null)
  return isWhole ? issued : null
}
