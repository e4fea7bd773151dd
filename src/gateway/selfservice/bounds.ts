// How large people's own keys and tokens may be (contract 12.2): etcd and every replica have them in memory.
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { type WholeAnswer, failure } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'

/** Bytes of a body, and of an object as JSON with all that the API server adds to it. */
export const LARGEST_OWN = 64 * 1024

/**
 * The 413 for a body that is longer than what self-service takes; null where it is not. What is larger already
 * may be sent to be made smaller.
 *
 * @param before the object as it is; null = it would be made
 */
export function bodyRefusal(
  { headers }: Pick<HttpRequest, 'headers'>,
  sent: Json,
  before: JsonMap | null,
): WholeAnswer | null {
  const bytes = Math.max(Number(headers['content-length'] ?? 0), lengthOf(sent))
  if (bytes <= Math.max(LARGEST_OWN, before === null ? 0 : lengthOf(before))) return null
  return failure(
    'RequestEntityTooLarge',
    `the body has ${bytes} bytes: to write your own keys and tokens it may have ${LARGEST_OWN}`,
  )
}

/** The 413 for an object that would be larger when it is stored; null for one that may be, or shrinks. */
export function sizeRefusal(before: JsonMap | null, after: JsonMap): WholeAnswer | null {
  const bytes = lengthOf(after)
  if (bytes <= LARGEST_OWN || (before !== null && bytes < lengthOf(before))) return null
  return failure(
    'RequestEntityTooLarge',
    `the object would have ${bytes} bytes: your own keys and tokens may have ${LARGEST_OWN} each, with all that the API server adds`,
  )
}

const lengthOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value))
