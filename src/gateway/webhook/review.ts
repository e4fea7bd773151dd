// Reads the spec of a SubjectAccessReview (authorization.k8s.io/v1). Values that we do not use are not checked: a later
// API server may send more.
import {
  type JsonMap,
  isAbsent,
  isMap,
  ownValue,
  stringOf,
  stringsOf,
} from '../../domain/json/json.ts'
import type { RequestInfo, RequestTarget } from '../../domain/scope/request-info.ts'

/** The user of a review. */
export interface ReviewedUser {
  /** Empty = the review has none. */
  readonly name: string
  readonly extra: JsonMap
}

/** The user of a review, or the fault as a clause. @param spec of any type */
export function reviewedUser(spec: unknown): ReviewedUser | string {
  if (!isMap(spec)) return 'the review has no spec'
  const [user, extra] = [ownValue(spec, 'user'), ownValue(spec, 'extra')]
  if (!isAbsent(user) && typeof user !== 'string') return 'the user of the review is not a string'
  if (!isAbsent(extra) && !isMap(extra)) return 'extra of the review is not an object'
  return { name: user ?? '', extra: extra ?? {} }
}

/** The values of an extra; empty when it is absent, null for anything but a list of strings. */
export const extraValues = ({ extra }: ReviewedUser, name: string): readonly string[] | null =>
  stringsOf(ownValue(extra, name))

/**
 * The request of a review with the attributes that the API server computed, or the fault as a clause.
 *
 * @param spec of any type
 */
export function reviewedRequest(spec: unknown, target: RequestTarget): RequestInfo | string {
  const review = isMap(spec) ? spec : {}
  const resource = ownValue(review, 'resourceAttributes')
  const path = ownValue(review, 'nonResourceAttributes')
  if (isAbsent(resource) === isAbsent(path))
    return 'the review must have either resourceAttributes or nonResourceAttributes'
  const attributes = isAbsent(resource) ? path : resource
  if (!isMap(attributes)) return 'the attributes of the review are not an object'
  const [required, optional] = isAbsent(resource) ? PATH_FIELDS : RESOURCE_FIELDS
  const texts = new Map(
    [...required, ...optional].map((field) => [field, textOf(ownValue(attributes, field))]),
  )
  const malformed = [...texts].find(([, text]) => text === undefined)
  if (malformed) return `${malformed[0]} in the attributes of the review is not a string`
  const text = (field: string): string => texts.get(field) ?? ''
  const missing = required.find((field) => text(field) === '')
  if (missing !== undefined) return `the attributes of the review have no ${missing}`
  const verb = text('verb')
  if (isAbsent(resource)) return { target, verb, path: text('path') }
  return {
    target,
    verb,
    group: text('group'),
    version: text('version'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
  }
}

/** The fields that are read: required ones, which must not be empty, and optional ones. */
type AttributeFields = readonly [required: readonly string[], optional: readonly string[]]

const PATH_FIELDS: AttributeFields = [['verb', 'path'], []]
/** An API server has no verb for other methods, which reach what is behind `proxy` (contract 11.6). */
const RESOURCE_FIELDS: AttributeFields = [
  ['resource'],
  ['verb', 'group', 'version', 'subresource', 'namespace', 'name'],
]

/** The value as text; empty when absent, undefined for any other value. */
const textOf = (value: unknown): string | undefined => (isAbsent(value) ? '' : stringOf(value))
