// The decision of the authorization webhook, which API servers ask before RBAC (contract 9.6). It denies what the scope
// of a token does not grant and never allows anything: RBAC decides on the rest.
import { ACCESS_KEY_EXTRA, SCOPE_EXTRA, TOKEN_ID_EXTRA } from '../../api/names.ts'
import {
  type ParsedScope,
  type ScopeContext,
  authorizeInSpace,
  parseScopeText,
} from '../../domain/scope/authorize.ts'
import { authorizeWithCreate, needsCreate } from '../../domain/scope/update-as-create.ts'
import {
  type RequestInfo,
  type RequestTarget,
  type ScopeDecision,
  isOwnGroup,
} from '../../domain/scope/request-info.ts'
import { ERRORS } from '../errors.ts'
import { type ReviewedUser, extraValues, reviewedRequest, reviewedUser } from './review.ts'

/** A space of the cluster, and its namespace there. */
interface ClusterSpace {
  readonly project: string
  readonly space: string
  readonly namespace: string
}

/** The state that a decision needs in addition to the review. */
export interface WebhookContext {
  /** Name of the cluster whose API server asks. */
  readonly cluster: string
  /** null until the settings are known: all tokens are denied until then. Roles grant nothing here (contract 11.4). */
  readonly scopeContext: ScopeContext | null
  readonly revocation: {
    readonly isRevoked: (jti: string) => boolean
    /** Since when revocations are unknown, in RFC 3339: the time of the last list, or the start; null = they are known. */
    readonly unknownSince: () => string | null
  }
  /** The spaces of the cluster. */
  readonly spaces: () => Iterable<ClusterSpace>
}

/**
 * The decision on a review: denied, with the reason for the caller, or no opinion, so that the next authorizer decides.
 * No opinion has no reason: a server appends it to RBAC's refusal, where it reads as the cause.
 */
export type WebhookDecision =
  | { readonly denied: true; readonly reason: string }
  | { readonly denied: false }

const denied = (reason: string): WebhookDecision => ({ denied: true, reason })
const NO_OPINION: WebhookDecision = { denied: false }

/** Decides on a review. Denies what it can't read. @param spec the spec of the SubjectAccessReview, of any type */
export function decideReview(spec: unknown, context: WebhookContext): WebhookDecision {
  const user = reviewedUser(spec)
  if (typeof user === 'string') return denied(user)
  for (const check of USER_CHECKS) {
    const decision = check(user, context)
    if (decision !== null) return decision
  }
  const review = tokenReview(spec, user, context)
  if (typeof review === 'string') return denied(review)
  for (const check of TOKEN_CHECKS) {
    const because = check(review, context)
    if (because !== null) return denied(because)
  }
  return NO_OPINION
}

/** Decides by the user alone; null = the next check decides. */
type UserCheck = (user: ReviewedUser, context: WebhookContext) => WebhookDecision | null

const USER_PREFIX = 'platform:'
const EXTRA_PREFIX = 'platform.sh/'

/** A server without our matchCondition asks for everybody: its own users must not be denied. */
function notOurs({ name, extra }: ReviewedUser): WebhookDecision | null {
  const hasOurExtra = Object.keys(extra).some((one) => one.startsWith(EXTRA_PREFIX))
  return name.startsWith(USER_PREFIX) || hasOurExtra ? null : NO_OPINION
}

/**
 * A gateway sends neither a scope nor the id of a token: it has decided by the scope of the access key. A token always
 * comes with both, and one that has lost its scope on the way is denied below.
 */
const decidedByGateway: UserCheck = (user) =>
  hasValues(user, ACCESS_KEY_EXTRA) &&
  isAbsentExtra(user, SCOPE_EXTRA) &&
  isAbsentExtra(user, TOKEN_ID_EXTRA)
    ? NO_OPINION
    : null

/** Whether the extra is absent, or an empty list, which is the same to an API server. */
const isAbsentExtra = (user: ReviewedUser, name: string): boolean =>
  extraValues(user, name)?.length === 0

/** Whether the extra is a list with values. */
const hasValues = (user: ReviewedUser, name: string): boolean =>
  (extraValues(user, name)?.length ?? 0) > 0

function revocationUnknown(
  _: ReviewedUser,
  { revocation }: WebhookContext,
): WebhookDecision | null {
  const since = revocation.unknownSince()
  return since === null ? null : denied(`revocation unknown since ${since}`)
}

const USER_CHECKS: readonly UserCheck[] = [notOurs, decidedByGateway, revocationUnknown]

/** A review of a request that was made with a token. */
interface TokenReview {
  readonly tokenId: string
  readonly grants: ParsedScope
  readonly scopeContext: ScopeContext
  readonly request: RequestInfo
  /** Whether the request came through the direct endpoint, and so perhaps by the path of a space. */
  readonly isForwarded: boolean
}

/** The review of a token's request, or what is missing or malformed, as a clause. */
function tokenReview(
  spec: unknown,
  user: ReviewedUser,
  { cluster, scopeContext }: WebhookContext,
): TokenReview | string {
  if (extraValues(user, ACCESS_KEY_EXTRA) === null)
    return `extra ${ACCESS_KEY_EXTRA} is not a list of strings`
  const [scopeText, tokenId] = [onlyValue(user, SCOPE_EXTRA), onlyValue(user, TOKEN_ID_EXTRA)]
  if (scopeText === null) return `extra ${SCOPE_EXTRA} must have one value`
  if (tokenId === null) return `extra ${TOKEN_ID_EXTRA} must have one value`
  const scope = knownScope(scopeText)
  if (scope === null) return `extra ${SCOPE_EXTRA} is not a valid scope`
  const request = reviewedRequest(spec, { kind: 'Cluster', cluster })
  if (typeof request === 'string') return request
  if (scopeContext === null) return 'settings are not known here yet'
  const isForwarded = hasValues(user, ACCESS_KEY_EXTRA)
  return { tokenId, grants: scope.grants, scopeContext, request, isForwarded }
}

type ScopeOfText = ReturnType<typeof parseScopeText>

/** Parsed scopes by their text: parsing costs more than the decision, and a token comes with the same text each time. */
const knownScopes = new Map<string, ScopeOfText>()
const MOST_SCOPES = 500

function knownScope(text: string): ScopeOfText {
  const known = knownScopes.get(text)
  if (known !== undefined) return known
  const scope = parseScopeText(text)
  if (knownScopes.size >= MOST_SCOPES) knownScopes.clear()
  knownScopes.set(text, scope)
  return scope
}

/** The only value of an extra, never empty; null when it has no, several or malformed values. */
function onlyValue(user: ReviewedUser, name: string): string | null {
  const [value = '', ...others] = extraValues(user, name) ?? []
  return value === '' || others.length > 0 ? null : value
}

/** Why a request with a token is denied; null = the next check decides. */
type TokenCheck = (review: TokenReview, context: WebhookContext) => string | null

const TOKEN_CHECKS: readonly TokenCheck[] = [revoked, outOfScope, ownKinds]

function revoked({ tokenId }: TokenReview, { revocation }: WebhookContext): string | null {
  return revocation.isRevoked(tokenId) ? 'the token is revoked' : null
}

/** As the gateway does on connected clusters: what is secret in these kinds would not be hidden (contract 12.4). */
function ownKinds({ request }: TokenReview): string | null {
  return isOwnGroup(request) ? ERRORS.ownKindsElsewhere.message : null
}

function outOfScope(review: TokenReview, { spaces }: WebhookContext): string | null {
  const decision = authorizeOn(review.request.target, review)
  if (decision.allowed) return null
  // Without the direct endpoint nothing keeps a request on the path of a space: only the cluster counts.
  if (review.isForwarded && isInGrantedSpace(review, spaces())) return null
  return decision.because
}

/** Whether the direct endpoint passes the request on the path of one of the spaces (contract 11.9). */
function isInGrantedSpace(review: TokenReview, spaces: Iterable<ClusterSpace>): boolean {
  for (const { project, space, namespace } of spaces) {
    if (!authorizeInSpace(namespace, review.request).allowed) continue
    if (authorizeOn({ kind: 'ProjectSpace', project, space }, review).allowed) return true
  }
  return false
}

/** Decides by the scope, as the gateway does, on a request for this target. */
function authorizeOn(
  target: RequestTarget,
  { grants, request, scopeContext }: TokenReview,
): ScopeDecision {
  const asked = { ...request, target }
  return authorizeWithCreate(grants, asked, needsCreate(asked), scopeContext)
}
