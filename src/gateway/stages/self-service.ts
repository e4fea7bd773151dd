// Answers requests of the management API itself: about objects of management.platform.sh, and reviews of one's own rights.
import { keyCaller } from '../../authn/caller.ts'
import { type Stage, known } from '../request-context.ts'
import { type SelfService, answerToFailure, isOwnKind } from '../selfservice/handler.ts'
import { selfReviewOf } from '../proxy/self-subject-access-review.ts'
import { forwarded } from './proxy.ts'

/** The dependencies of the stages. */
export interface SelfServiceDeps {
  readonly selfService: SelfService
}

/** Answers requests about objects of management.platform.sh (contract 9.3, 12). */
export const selfService: Stage<SelfServiceDeps> = (context, deps) => {
  const request = known(context, 'request')
  if (!isOwnKind(request)) return null
  const { lease } = known(context, 'admitted')
  return deps.selfService.answer(request, context.http, keyCaller(known(context, 'caller')), lease)
}

/** Answers self reviews in the management cluster, with what self-service gives the caller (contract 11.3). */
export const managementReview: Stage<SelfServiceDeps> = (context, deps) => {
  const { attributes } = known(context, 'request')
  if (attributes.target.kind !== 'Management' || selfReviewOf(attributes) === null) return null
  const { lease } = known(context, 'admitted')
  const rights = deps.selfService.rights(context.http, keyCaller(known(context, 'caller')), lease)
  return forwarded(context, rights).catch(answerToFailure)
}
