// Self subject access reviews: the scope of the key narrows the API server's answer (contract 11.3).
import type { Caller } from '../../authn/caller.ts'
import { type JsonMap, isMap, parseJsonMap } from '../../domain/json/json.ts'
import { type ScopeContext, authorize } from '../../domain/scope/authorize.ts'
import {
  type RequestInfo,
  type RequestTarget,
  isResourceRequest,
} from '../../domain/scope/request-info.ts'
import { type Answer, readBody, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { ERRORS } from '../errors.ts'

/** Whether the request is a SelfSubjectAccessReview. */
export function isSelfAccessReview(attributes: RequestInfo): boolean {
  return (
    isResourceRequest(attributes) &&
    attributes.group === 'authorization.k8s.io' &&
    attributes.resource === 'selfsubjectaccessreviews' &&
    attributes.verb === 'create'
  )
}

/**
 * The request with headers that ask for JSON, the only form that `narrowedReview` reads. The API server repeats the
 * review in its answer, even a review that kubectl sent as protobuf.
 */
export const asReadable = (call: HttpRequest): HttpRequest => ({
  ...call,
  headers: { ...call.headers, accept: 'application/json', 'accept-encoding': 'identity' },
})

/** The API server's answer, turned into a denial when the scope does not grant the reviewed request. */
export async function narrowedReview(
  answer: Answer,
  { scope }: Caller,
  target: RequestTarget,
  scopeContext: ScopeContext,
): Promise<Answer> {
  if (Buffer.isBuffer(answer.body) || answer.status !== 201) return answer
  const body = await readBody(answer.body)
  const review = body && parseJsonMap(body.toString('utf8'))
  if (!review || !isMap(review['spec'])) return UNREADABLE
  const decision = authorize(scope, reviewedRequest(review['spec'], target), scopeContext)
  const status = decision.allowed
    ? review['status']
    : { allowed: false, denied: true, reason: decision.because }
  return { ...answer, body: Buffer.from(JSON.stringify({ ...review, status })) }
}

const UNREADABLE = refuse(ERRORS.selfReviewUnreadable)

function reviewedRequest(
  { resourceAttributes, nonResourceAttributes: path }: JsonMap,
  target: RequestTarget,
): RequestInfo {
  if (isMap(path)) return { target, verb: text(path['verb']), path: text(path['path']) }
  const attributes = isMap(resourceAttributes) ? resourceAttributes : {}
  return {
    target,
    verb: text(attributes['verb']),
    group: text(attributes['group']),
    version: text(attributes['version']),
    resource: text(attributes['resource']),
    subresource: text(attributes['subresource']),
    namespace: text(attributes['namespace']),
    name: text(attributes['name']),
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
