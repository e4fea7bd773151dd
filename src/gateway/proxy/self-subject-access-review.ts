// Self subject reviews: the scope of the key and the space narrow the API server's answer, and self-service adds to it
// what RBAC does not know of (contract 11.3, 11.9, 12.1).
import { ACCESS_KEY_CLAIMS, GROUP, type Resource } from '../../api/names.ts'
import { nestedField, nestedMap } from '../../domain/json/field-path.ts'
import { type JsonBounds, exceedsBounds } from '../../domain/json/bounds.ts'
import { type JsonMap, isList, isMap, parseJsonMap } from '../../domain/json/json.ts'
import {
  type RequestInfo,
  type RequestTarget,
  type ScopeDecision,
  isOwnGroup,
  isResourceRequest,
} from '../../domain/scope/request-info.ts'
import { type Answer, readBody, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { type ForwardedCall, withHeaders } from './forward.ts'

/** The kind of a self review: of one access, or of all rules. */
type SelfReviewKind = 'access' | 'rules'

/** The self review that the request asks for; null = it is another request. */
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
 * The request with headers that ask for JSON, the only form that `completedReview` reads. The API server repeats the
 * review in its answer, even a review that kubectl sent as protobuf.
 */
export const asReadable = (call: ForwardedCall): ForwardedCall =>
  withHeaders(call, { accept: 'application/json', 'accept-encoding': 'identity' })

/** The rights that self-service gives a caller on our kinds. */
export interface OwnRights {
  /**
   * Why self-service grants the request, in a few words; null = it does not.
   *
   * @throws UpstreamUnavailable or BufferFull when the object that the request names can't be read
   */
  readonly reasonFor: (request: RequestInfo) => Promise<string | null>
  readonly rules: readonly OwnRule[]
}

/** The verbs that self-service gives a caller on one kind. */
export interface OwnRule {
  readonly resource: Resource
  readonly verbs: readonly string[]
}

/** The scope, space and rights that narrow or widen the answer to a self review. */
interface ReviewedCaller {
  readonly target: RequestTarget
  /** Whether the scope of the key, or the space, may deny anything. */
  readonly isNarrowed: boolean
  /** Decides by the scope and the space. */
  readonly decide: (request: RequestInfo) => ScopeDecision
  /** null = self-service gives no rights on the target. */
  readonly rights: OwnRights | null
}

/**
 * The answer to a self review, by the answer of the API server: an access that `decide` denies is denied, one that
 * self-service grants is allowed, and rules are no complete list where anything may deny them (contract 11.3, 11.9).
 *
 * @throws as OwnRights does
 */
export async function completedReview(
  kind: SelfReviewKind,
  answer: Answer,
  caller: ReviewedCaller,
): Promise<Answer> {
  if (answer.status !== 201) return answer
  const body = Buffer.isBuffer(answer.body) ? answer.body : await readBody(answer.body)
  if (body === null || exceedsBounds(body, BOUNDS)) return UNREADABLE
  const review = parseJsonMap(body.toString('utf8'))
  if (!review || !isMap(review['spec']) || !isMap(review['status'] ?? {})) return UNREADABLE
  const status =
    kind === 'rules'
      ? rulesStatus(nestedMap(review, ['status']), caller)
      : await accessStatus(review['spec'], nestedMap(review, ['status']), caller)
  return { ...answer, body: Buffer.from(JSON.stringify({ ...review, status })) }
}

async function accessStatus(
  spec: JsonMap,
  status: JsonMap,
  { target, decide, rights }: ReviewedCaller,
): Promise<JsonMap> {
  const reviewed = reviewedRequest(spec, target, rights !== null)
  const decision = decide(reviewed)
  if (!decision.allowed) return { allowed: false, denied: true, reason: decision.because }
  if (rights === null || status['allowed'] === true || !isOwnGroup(reviewed)) return status
  const reason = await rights.reasonFor(reviewed)
  return reason === null ? status : { allowed: true, reason }
}

function rulesStatus(
  status: JsonMap,
  { target, isNarrowed, decide, rights }: ReviewedCaller,
): JsonMap {
  const added = (rights?.rules ?? []).flatMap(({ resource, verbs }): readonly JsonMap[] => {
    const { group, version, plural } = resource
    const attributes = { target, group, version, resource: plural, ...OF_A_COLLECTION }
    const granted = verbs.filter((verb) => decide({ ...attributes, verb }).allowed)
    return granted.length === 0 ? [] : [{ verbs: granted, apiGroups: [group], resources: [plural] }]
  })
  const rules = nestedField(status, ['resourceRules'])
  return {
    ...status,
    ...(added.length === 0 ? {} : { resourceRules: [...(isList(rules) ? rules : []), ...added] }),
    ...(isNarrowed ? { incomplete: true } : {}),
  }
}

const OF_A_COLLECTION = { subresource: '', namespace: '', name: '' } as const

/** A review has six levels, and more in its managed fields; the values suffice for some ten thousand rules. */
const BOUNDS: JsonBounds = { levels: 64, values: 200_000 }

const UNREADABLE = refuse(ERRORS.selfReviewUnreadable)

function reviewedRequest(
  { resourceAttributes, nonResourceAttributes: path }: JsonMap,
  target: RequestTarget,
  servesOwnKinds: boolean,
): RequestInfo {
  if (isMap(path)) return { target, verb: text(path['verb']), path: text(path['path']) }
  const attributes = isMap(resourceAttributes) ? resourceAttributes : {}
  const group = text(attributes['group'])
  // Our kinds but claims have no namespace, but kubectl names its own in every review.
  const isClaims = text(attributes['resource']) === ACCESS_KEY_CLAIMS.plural
  const isNamespaced = !servesOwnKinds || group !== GROUP || isClaims
  return {
    target,
    verb: text(attributes['verb']),
    group,
    version: text(attributes['version']),
    resource: text(attributes['resource']),
    subresource: text(attributes['subresource']),
    namespace: isNamespaced ? text(attributes['namespace']) : '',
    name: text(attributes['name']),
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
