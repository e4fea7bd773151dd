// The path of a request: split first, then decoded, once. The API server decodes first and cleans nothing,
// so that `%2f` separates and `..` names there. Whatever could be read in two ways is refused.
import { decoded, encoded } from './percent.ts'
import { type Reading, read, refused } from './reading.ts'

/** The segments of a path as it was sent; empty means `/`. The last one is empty where a slash trails. */
export function readPath(raw: string): Reading<readonly string[]> {
  if (raw !== '' && !raw.startsWith('/')) return refused('the path must begin with one slash')
  const parts = raw.slice(1).split('/')
  const segments: string[] = []
  for (const [at, part] of parts.entries()) {
    const segment = decoded(part)
    if (segment === null) return refused('the path must be percent-encoded UTF-8')
    const fault = segment === '' && at === parts.length - 1 ? null : faultOf(segment)
    if (fault !== null) return refused(fault)
    segments.push(segment)
  }
  return read(segments)
}

/** The path to send. */
export const writtenPath = (segments: readonly string[]): string =>
  `/${segments.map(encoded).join('/')}`

function faultOf(segment: string): string | null {
  if (segment === '') return 'the path must have no empty segment'
  if (segment === '.' || segment === '..') return 'the path must have no dot segment'
  // No name of an object has any of these: the API server stores none with a slash or a percent sign.
  if (/[/\\%\p{Cc}]/u.test(segment))
    return 'a segment of the path must hold no slash, backslash, percent sign or control character'
  return null
}
