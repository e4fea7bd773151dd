// The size of the caller's own keys and tokens (contract 12.2): etcd and every replica hold them in memory.
import { nestedField, setNestedField } from '../../domain/json/field-path.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'

/** Maximum bytes of a body, and of an object as JSON with all that the API server adds. */
export const LARGEST_OWN = 64 * 1024

/**
 * The 413 for a body beyond the limit; null = none. A body as large as the stored object may be sent, so that an object
 * beyond the limit can be made smaller.
 *
 * @param before the stored object; null = the write creates it
 */
export function bodyRefusal(
  { headers }: Pick<HttpRequest, 'headers'>,
  sent: Json,
  before: JsonMap | null,
): BufferedAnswer | null {
  const bytes = Math.max(Number(headers['content-length'] ?? 0), lengthOf(sent))
  const most = before === null ? 0 : lengthOf(before) + LONGEST_REDUCTION
  if (bytes <= Math.max(LARGEST_OWN, most)) return null
  return refuse(SELF_SERVICE_ERRORS.ownBodyTooLarge, { bytes, limit: LARGEST_OWN })
}

/** Maximum bytes that a flag and a ttl add to a body: a key beyond the limit can be disabled and shortened by PUT. */
const LONGEST_REDUCTION = 64

/** The 413 for an object that would be stored beyond the limit; null = none, also for one that becomes no larger. */
export function sizeRefusal(before: JsonMap | null, after: JsonMap): BufferedAnswer | null {
  const bytes = lengthOf(after)
  if (bytes <= LARGEST_OWN || (before !== null && isNoLarger(before, after))) return null
  return refuse(SELF_SERVICE_ERRORS.ownObjectTooLarge, { bytes, limit: LARGEST_OWN })
}

const MANAGED_FIELDS = ['metadata', 'managedFields'] as const

/** Fields that a reduction of rights adds, and counters of the API server: neither holds content of the client. */
const UNCOUNTED: readonly (readonly string[])[] = [
  MANAGED_FIELDS,
  ['metadata', 'resourceVersion'],
  ['metadata', 'generation'],
  ['spec', 'disabled'],
  ['spec', 'ttl'],
]

/** The bytes up to which the list of field managers may grow in an object beyond the limit: clients choose their names. */
const MOST_MANAGED_FIELDS = 16 * 1024

/** Whether the client's content is no larger than before, and the list of field managers stays within its bound. */
function isNoLarger(before: JsonMap, after: JsonMap): boolean {
  const [contentBefore, content] = [before, after].map((object) =>
    lengthOf(UNCOUNTED.reduce((rest, path) => setNestedField(rest, path, undefined), object)),
  )
  const [managersBefore = 0, managers = 0] = [before, after].map((object) =>
    lengthOf(nestedField(object, MANAGED_FIELDS) ?? null),
  )
  return (
    (content ?? 0) <= (contentBefore ?? 0) &&
    managers <= Math.max(managersBefore, MOST_MANAGED_FIELDS)
  )
}

const lengthOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value))
