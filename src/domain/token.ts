// The slim view of a DirectClusterEndpointToken on which every decision stands. It holds no secret.
import type {
  DirectClusterEndpointToken,
  DirectClusterEndpointTokenSpec,
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
import { fieldsOf, scopeOf, secondsOf, textOf, type Untyped } from './untyped.ts'

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

/** A lifetime that can't be read is no default: the shortest there is. */
const SHORTEST_TTL = 1

/**
 * The view of an object. What the schema would refuse never throws and never gives more: a scope that grants
 * nothing, the shortest life, a token that is not ours (contract 10.3).
 */
export function tokenOf(object: DirectClusterEndpointToken): Token {
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
  status: Untyped<DirectClusterEndpointTokenStatus>,
): PublishedToken {
  const owned = ownedBy(managedFields, 'status')
  // Mostly compared with what is wanted: of another type it is another value.
  const ours = oursIn(owned, status as DirectClusterEndpointTokenStatus)
  const { name, uid: ofOwner } = fieldsOf(ours('owner'))
  const [ownerName, ownerUid] = [textOf(name), textOf(ofOwner)]
  const beside = {
    expirationTimestamp: ours('expirationTimestamp'),
    keyID: ours('keyID'),
    owner: ownerName && ownerUid ? { name: ownerName, uid: ownerUid } : null,
  }
  return {
    ...beside,
    issued: status.token ? (issuedIn(textOf(ours('token')) ?? '', uid, beside) ?? 'damaged') : null,
    isTokenForeign: Boolean(status.token) && !owned.has('status', 'token'),
    issuedTimestamp: ours('issuedTimestamp'),
    observedGeneration: ours('observedGeneration'),
    conditions: owned.conditions(status.conditions),
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
