// The last stage: forwards an admitted request to its target.
import { authorizeInSpace } from '../../domain/scope/authorize.ts'
import {
  type RequestInfo,
  type ScopeDecision,
  isOwnGroup,
  targetText,
} from '../../domain/scope/request-info.ts'
import { authorizeWithCreate, needsCreate } from '../../domain/scope/update-as-create.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { ACCOUNT_REFUSED, UNAVAILABLE, forward } from '../proxy/forward.ts'
import { asRecordable } from '../audit/recordable-request.ts'
import {
  type OwnRights,
  asReadable,
  completedReview,
  selfReviewOf,
} from '../proxy/self-subject-access-review.ts'
import { forwardUpgrade } from '../proxy/upgrade.ts'
import { type RequestContext, type Stage, known } from '../request-context.ts'
import type { ParsedRequest } from '../request/parse.ts'
import { type Query, formatQuery } from '../request/path-and-query.ts'
import { PROBE_FAULTS } from '../targets/probe-result.ts'

/**
 * Forwards a request to its target as the caller. The scope of the key and the space narrow self reviews (11.3, 11.9). Where
 * a connected target can't be reached, the refusal names it (9.5).
 */
export const proxy: Stage = async (context) => {
  const answer = await forwarded(context, null)
  const { target } = known(context, 'request').attributes
  const fault = FAULTS.get(answer)
  return fault !== undefined && target.kind !== 'Management'
    ? refuse(ERRORS.targetUnusable, { target: targetText(target), fault })
    : answer
}

/** The faults of targets by the answer that does not name the target. */
const FAULTS: ReadonlyMap<Answer, string> = new Map([
  [UNAVAILABLE, PROBE_FAULTS.unreachable],
  [ACCOUNT_REFUSED, PROBE_FAULTS.refused],
])

/**
 * Forwards the request, and narrows the answer to a self review.
 *
 * @param rights what self-service gives the caller; null = nothing on this target
 */
export async function forwarded(
  context: RequestContext,
  rights: OwnRights | null,
): Promise<Answer> {
  const { http, upgrade: protocol } = context
  const request = strictlyValidated(known(context, 'request'))
  const caller = known(context, 'caller')
  const { signal, maySend } = known(context, 'admitted').lease
  const { upstream, namespace } = known(context, 'resolved')
  if (protocol !== null)
    return forwardUpgrade(upstream, { request, call: http, protocol, caller, signal })
  const isNarrowed = caller.scope !== null || namespace !== null
  const review = isNarrowed || rights !== null ? selfReviewOf(request.attributes) : null
  const plain = context.record?.recordsAnswer === true ? asRecordable(http) : http
  const sent = review === null ? plain : asReadable(http)
  const answer = await forward(upstream, request, sent, { caller }, { signal, maySend: maySend })
  if (review === null) return answer
  const decide = (reviewed: RequestInfo): ScopeDecision => decisionOn(reviewed, context)
  const { target } = request.attributes
  return completedReview(review, answer, { target, isNarrowed, decide, rights })
}

/** Writes of our kinds are validated strictly: a mistyped field of a scope would widen it (contract 12.1). */
function strictlyValidated(request: ParsedRequest): ParsedRequest {
  const { attributes, query: sent } = request
  if (!isOwnGroup(attributes) || !STORING_VERBS.has(attributes.verb)) return request
  const others = sent.filter(([name]) => name !== 'fieldValidation')
  const query: Query = [...others, ['fieldValidation', 'Strict']]
  return { ...request, query, search: formatQuery(query) }
}

const STORING_VERBS: ReadonlySet<string> = new Set(['create', 'update', 'patch'])

/** The decision on a request of these attributes, were it sent (contract 11.3, 11.9, 12.4). */
function decisionOn(reviewed: RequestInfo, context: RequestContext): ScopeDecision {
  const { scope } = known(context, 'caller')
  const { namespace } = known(context, 'resolved')
  const creates = needsCreate(reviewed)
  const decision = authorizeWithCreate(scope, reviewed, creates, known(context, 'scopeContext'))
  if (!decision.allowed) return decision
  if (reviewed.target.kind !== 'Management' && isOwnGroup(reviewed)) return OWN_KINDS_ELSEWHERE
  return namespace === null ? decision : authorizeInSpace(namespace, reviewed)
}

const OWN_KINDS_ELSEWHERE: ScopeDecision = {
  allowed: false,
  because: ERRORS.ownKindsElsewhere.message,
}
