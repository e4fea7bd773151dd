// The keys and tokens that were made for claims, as decisions need them: without their secrets (contract 28.3).
import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import { CLAIM_LABEL, DELIVERS_ANNOTATION } from '../../api/names.ts'
import type { ObjectMeta } from '../../api/objects.ts'
import type { OwnedAccessKeySpec } from '../../api/ownedaccesskey.gen.ts'
import { type AccessKey, type OwnedAccessKeyObject, accessKeyOf } from '../accesskey/access-key.ts'
import {
  type Json,
  type Untyped,
  fieldsOf,
  sameJson,
  scopeOf,
  secondsOf,
  stringOf,
  stringsOf,
} from '../json/json.ts'
import { type TokenObject, issuedTokenEndMs, tokenOf } from '../token/token.ts'
import { type ClaimedKey, type ClaimedToken, rotateRequestOf } from './claim.ts'

/** What a Secret has of a key: the key itself, or a token of it. */
type Delivers = 'Key' | 'Token'

/** The claim that a key or token was made for. */
interface MadeForClaim {
  /** uid of the claim; empty = the label is missing. */
  readonly claimUid: string
  /** `<namespace>/<name>` of the claim; empty = the annotation is missing. */
  readonly claimKey: string
}

/** A key of a claim. */
export interface KeyOfClaim extends AccessKey, MadeForClaim {
  readonly delivers: Delivers
  /** The request that it answers, as in Claim; null = it answers none. */
  readonly rotateRequest: string | null
  /** Its fields that claims set. */
  readonly spec: ClaimedKey
}

/** A token of a claim. */
export interface TokenOfClaim extends TokenObject, MadeForClaim {
  /** When it stops working, in epoch milliseconds; null = it is not issued yet. */
  readonly endMs: number | null
}

/** Parses a key. Never throws. @param digestOf as for accessKeyOf */
export function keyOfClaim(
  object: OwnedAccessKeyObject,
  digestOf: (key: string) => string,
): KeyOfClaim {
  const { metadata } = object
  return {
    ...accessKeyOf(object, digestOf),
    ...claimIn(metadata),
    delivers: metadata.annotations?.[DELIVERS_ANNOTATION] === 'Token' ? 'Token' : 'Key',
    rotateRequest: rotateRequestOf(metadata),
    spec: claimedFieldsOf(fieldsOf(object.spec)),
  }
}

/** Parses a token. Never throws. */
export function tokenOfClaim(object: DirectClusterEndpointToken): TokenOfClaim {
  const token = tokenOf(object)
  return { ...token, ...claimIn(object.metadata), endMs: issuedTokenEndMs(token) }
}

const claimIn = ({ labels = {}, annotations = {} }: ObjectMeta): MadeForClaim => ({
  claimUid: labels[CLAIM_LABEL] ?? '',
  claimKey: annotations[CLAIM_LABEL] ?? '',
})

/** A malformed field equals no field of a claim, so that it is written anew. */
const claimedFieldsOf = (spec: Untyped<OwnedAccessKeySpec>): ClaimedKey => ({
  user: stringOf(spec.user) ?? '',
  team: stringOf(spec.team) ?? '',
  subject: stringOf(spec.subject) ?? '',
  groups: stringsOf(spec.groups) ?? [],
  displayName: stringOf(spec.displayName) ?? '',
  description: stringOf(spec.description) ?? '',
  ttlSeconds: secondsOf(spec.ttl) ?? 0,
  scope: scopeOf(spec.scope),
})

/** Whether two keys act as the same: a change of that takes a new key (contract 28.5). The order of groups does not count. */
export const sameIdentity = (a: ClaimedKey, b: ClaimedKey): boolean =>
  a.user === b.user &&
  a.team === b.team &&
  a.subject === b.subject &&
  sameJson([...new Set(a.groups)].toSorted(), [...new Set(b.groups)].toSorted())

/** Whether two keys of one identity have the same limits and names: a difference is patched (contract 28.5). */
export const sameLimits = (a: ClaimedKey, b: ClaimedKey): boolean =>
  a.ttlSeconds === b.ttlSeconds &&
  a.displayName === b.displayName &&
  a.description === b.description &&
  sameScope(a.scope, b.scope)

/** Whether a token is as a claim asks for it. */
export const isTokenAsked = (token: TokenOfClaim, { ttlSeconds, scope }: ClaimedToken): boolean =>
  token.ttl === ttlSeconds && sameScope(token.scope, scope)

const sameScope = (a: ClaimedKey['scope'], b: ClaimedKey['scope']): boolean =>
  sameJson(a as unknown as Json, b as unknown as Json)
