// The last stages, for admitted requests: record the use of the key, then answer by self-service or forward.
import { keyCaller } from '../../authn/caller.ts'
import { authorizeInSpace } from '../../domain/scope/authorize.ts'
import { authorizeWithCreate, needsCreate } from '../../domain/scope/create-rights.ts'
import {
  type RequestInfo,
  type ScopeDecision,
  isOwnGroup,
  targetText,
} from '../../domain/scope/request-info.ts'
import { type Answer, type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { ActivityRecorder, RecordResult } from '../activity/recorder.ts'
import { ERRORS } from '../errors.ts'
import { ACCOUNT_REFUSED, UNAVAILABLE, forward } from '../proxy/forward.ts'
import { forwardUpgrade } from '../proxy/upgrade.ts'
import { type RequestContext, type Stage, known } from '../request-context.ts'
import { type SelfService, answerToFailure, isOwnKind } from '../selfservice/handler.ts'
import { PROBE_FAULTS } from '../targets/condition.ts'
import {
  type OwnRights,
  asReadable,
  completedReview,
  selfReviewOf,
} from './self-subject-access-review.ts'

/** The dependencies of the stages for access keys. */
export interface AdmittedKeyDeps {
  readonly activity: ActivityRecorder
  readonly selfService: SelfService
}

const NOT_RECORDED = refuse(ERRORS.useNotRecorded)

/**
 * Records the request as a use of its key. A sliding key could end without this use: when its recorded use is old, the
 * new one is stored before the request goes on (contract 14.1).
 */
export const activity: Stage<AdmittedKeyDeps> = (context, deps) => {
  const recorded = (result: RecordResult): BufferedAnswer | null => {
    if (result === 'unavailable') return NOT_RECORDED
    context.use = 'used'
    return null
  }
  const result = deps.activity.started(keyCaller(known(context, 'caller')))
  return result instanceof Promise ? result.then(recorded) : recorded(result)
}

/** Answers requests about keys, tokens and Configs (contract 9.3, 12). */
export const selfService: Stage<AdmittedKeyDeps> = (context, deps) => {
  const request = known(context, 'request')
  if (!isOwnKind(request)) return null
  const { lease } = known(context, 'admitted')
  return deps.selfService.answer(request, context.http, keyCaller(known(context, 'caller')), lease)
}

/** Answers self reviews in the management cluster, with what self-service gives the caller (contract 11.3). */
export const managementReview: Stage<AdmittedKeyDeps> = (context, deps) => {
  const { attributes } = known(context, 'request')
  if (attributes.target.kind !== 'Management' || selfReviewOf(attributes) === null) return null
  const { lease } = known(context, 'admitted')
  const rights = deps.selfService.rights(context.http, keyCaller(known(context, 'caller')), lease)
  return forwarded(context, rights).catch(answerToFailure)
}

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

/** @param rights what self-service gives the caller; null = nothing on this target */
async function forwarded(context: RequestContext, rights: OwnRights | null): Promise<Answer> {
  const { http, upgrade: protocol } = context
  const request = known(context, 'request')
  const caller = known(context, 'caller')
  const { signal } = known(context, 'admitted').lease
  const { upstream, namespace } = known(context, 'resolved')
  if (protocol !== null)
    return forwardUpgrade(upstream, { request, call: http, protocol, caller, signal })
  const isNarrowed = caller.scope !== null || namespace !== null
  const review = isNarrowed || rights !== null ? selfReviewOf(request.attributes) : null
  const sent = review === null ? http : asReadable(http)
  const answer = await forward(upstream, request, sent, { caller }, signal)
  if (review === null) return answer
  const decide = (reviewed: RequestInfo): ScopeDecision => decisionOn(reviewed, context)
  const { target } = request.attributes
  return completedReview(review, answer, { target, isNarrowed, decide, rights })
}

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
