// The path of a request: split first, then decoded, once. The API server decodes first and cleans nothing,
// so that `%2f` separates and `..` names there. Whatever could be read in two ways is refused.
/** The segments of a path as it was sent; empty means `/`. The last one is empty where a slash trails. */
export function parsePath(raw: string): Parsed<readonly string[]> {
  if (raw !== '' && !raw.startsWith('/')) return refused('the path must begin with one slash')
  const parts = raw.slice(1).split('/')
  const segments: string[] = []
  for (const [at, part] of parts.entries()) {
    const segment = percentDecode(part)
    if (segment === null) return refused('the path must be percent-encoded UTF-8')
    const fault = segment === '' && at === parts.length - 1 ? null : faultOf(segment)
    if (fault !== null) return refused(fault)
    segments.push(segment)
  }
  return read(segments)
}

/** The path to send. */
export const formatPath = (segments: readonly string[]): string =>
  `/${segments.map(percentEncode).join('/')}`

function faultOf(segment: string): string | null {
  if (segment === '') return 'the path must have no empty segment'
  if (segment === '.' || segment === '..') return 'the path must have no dot segment'
  // No name of an object has any of these: the API server stores none with a slash or a percent sign.
  if (/[/\\%\p{Cc}]/u.test(segment))
    return 'a segment of the path must hold no slash, backslash, percent sign or control character'
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

/** Encodes whatever could mean anything but itself to anybody on the way. */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)

/** What was read from bytes; else in words why it is refused, for whoever sent it. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly because: string }

/** It was read. */
export const read = <Value>(value: Value): Parsed<Value> => ({ ok: true, value })

/** It is refused; the reason says what would be right. */
export const refused = (because: string): Parsed<never> => ({ ok: false, because })
