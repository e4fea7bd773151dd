// Self access reviews: the API server's answer, narrowed by the scope of the key (contract 11.3).
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
 * The call that asks for the answer in the one form that is read here. The API server repeats in it what
 * was asked, whatever form that came in: kubectl sends protobuf.
 */
export const asReadable = (call: HttpRequest): HttpRequest => ({
  ...call,
  headers: { ...call.headers, accept: 'application/json', 'accept-encoding': 'identity' },
})

/** The API server's answer, or a no where the scope does not grant what was asked. */
export async function narrowedReview(
  answer: Answer,
  { scope }: Caller,
  target: RequestTarget,
  surroundings: ScopeContext,
): Promise<Answer> {
  if (Buffer.isBuffer(answer.body) || answer.status !== 201) return answer
  const body = await readBody(answer.body)
  const review = body && parseJsonMap(body.toString('utf8'))
  if (!review || !isMap(review['spec'])) return UNREADABLE
  const decision = authorize(scope, askedIn(review['spec'], target), surroundings)
  const status = decision.allowed
    ? review['status']
    : { allowed: false, denied: true, reason: decision.because }
  return { ...answer, body: Buffer.from(JSON.stringify({ ...review, status })) }
}

const UNREADABLE = refuse(ERRORS.selfReviewUnreadable)

function askedIn(
  { resourceAttributes, nonResourceAttributes: path }: JsonMap,
  target: RequestTarget,
): RequestInfo {
  if (isMap(path)) return { target, verb: text(path['verb']), path: text(path['path']) }
  const of = isMap(resourceAttributes) ? resourceAttributes : {}
  return {
    target,
    verb: text(of['verb']),
    group: text(of['group']),
    version: text(of['version']),
    resource: text(of['resource']),
    subresource: text(of['subresource']),
    namespace: text(of['namespace']),
    name: text(of['name']),
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
