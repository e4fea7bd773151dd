// The path of a request: split first, then decoded, once. The API server decodes first and cleans nothing,
// so that `%2f` separates and `..` names there. Whatever could be read in two ways is refused.
import { type Refusal, type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'

/** The segments of a path as it was sent; empty means `/`. The last one is empty where a slash trails. */
export function parsePath(raw: string): Parsed<readonly string[]> {
  if (raw !== '' && !raw.startsWith('/')) return refused(refuse(ERRORS.pathStart))
  const parts = raw.slice(1).split('/')
  const segments: string[] = []
  for (const [at, part] of parts.entries()) {
    const segment = percentDecode(part)
    if (segment === null) return refused(refuse(ERRORS.pathEncoding))
    const fault = segment === '' && at === parts.length - 1 ? null : faultOf(segment)
    if (fault !== null) return refused(refuse(fault))
    segments.push(segment)
  }
  return read(segments)
}

/** The path to send. */
export const formatPath = (segments: readonly string[]): string =>
  `/${segments.map(percentEncode).join('/')}`

function faultOf(segment: string): Refusal | null {
  if (segment === '') return ERRORS.emptySegment
  if (segment === '.' || segment === '..') return ERRORS.dotSegment
  // No name of an object has any of these: the API server stores none with a slash or a percent sign.
  if (/[/\\%\p{Cc}]/u.test(segment)) return ERRORS.pathCharacters
  return null
}

// Percent-encoding as the API server reads it, where both sides read the same (contract 11.6).

/**
 * Decodes once; null when an escape is broken or the bytes are no UTF-8. The API server would take such
 * bytes as they are, and the same text could then not be written again.
 */
export function percentDecode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Encodes every character that a server on the way could read as more than itself. */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)

/** A value read from bytes, or the answer that refuses them. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** A value that was read. */
export const read = <Value>(value: Value): Parsed<Value> => ({ ok: true, value })

/** A refusal; its message says what would be right. */
export const refused = (answer: WholeAnswer): Parsed<never> => ({ ok: false, answer })
