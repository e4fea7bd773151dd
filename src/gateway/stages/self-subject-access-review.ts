// Self subject reviews: the scope of the key and the space narrow the API server's answer (contract 11.3, 11.9).
import { nestedMap } from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isMap, parseJsonMap } from '../../domain/json/json.ts'
import { type JsonBounds, exceedsBounds } from '../../domain/json/bounds.ts'
import {
  type RequestInfo,
  type RequestTarget,
  type ScopeDecision,
  isResourceRequest,
} from '../../domain/scope/request-info.ts'
import { type Answer, readBody, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import type { ForwardedCall } from '../proxy/forward.ts'

/** The kind of a self review: of one access, or of all rules. */
type SelfReviewKind = 'access' | 'rules'

/** The self review that the request asks for; null = it is none. */
export function selfReviewOf(attributes: RequestInfo): SelfReviewKind | null {
  if (!isResourceRequest(attributes)) return null
  const { group, resource, verb } = attributes
  if (group !== 'authorization.k8s.io' || verb !== 'create') return null
  return SELF_REVIEWS.get(resource) ?? null
}

const SELF_REVIEWS: ReadonlyMap<string, SelfReviewKind> = new Map([
  ['selfsubjectaccessreviews', 'access'],
  ['selfsubjectrulesreviews', 'rules'],
])

/**
 * The request with headers that ask for JSON, the only form that `narrowedReview` reads. The API server repeats the
 * review in its answer, even a review that kubectl sent as protobuf.
 */
export const asReadable = ({ id, headers, body, remoteAddress }: ForwardedCall): ForwardedCall => ({
  id,
  headers: { ...headers, accept: 'application/json', 'accept-encoding': 'identity' },
  body,
  remoteAddress,
})

/**
 * The API server's answer to a self review: an access that `decide` denies is denied, and rules are no complete list
 * (contract 11.3, 11.9).
 */
export async function narrowedReview(
  kind: SelfReviewKind,
  answer: Answer,
  target: RequestTarget,
  decide: (request: RequestInfo) => ScopeDecision,
): Promise<Answer> {
  if (answer.status !== 201) return answer
  const body = Buffer.isBuffer(answer.body) ? answer.body : await readBody(answer.body)
  if (body === null || exceedsBounds(body, BOUNDS)) return UNREADABLE
  const review = parseJsonMap(body.toString('utf8'))
  if (!review || !isMap(review['spec']) || !isMap(review['status'] ?? {})) return UNREADABLE
  const status =
    kind === 'rules'
      ? { ...nestedMap(review, ['status']), incomplete: true }
      : narrowedStatus(review, decide(reviewedRequest(review['spec'], target)))
  return { ...answer, body: Buffer.from(JSON.stringify({ ...review, status })) }
}

const narrowedStatus = (review: JsonMap, decision: ScopeDecision): Json =>
  decision.allowed
    ? (review['status'] ?? {})
    : { allowed: false, denied: true, reason: decision.because }

/** A review has six levels and those of its managed fields; the values are enough for some ten thousand rules. */
const BOUNDS: JsonBounds = { levels: 64, values: 200_000 }

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
