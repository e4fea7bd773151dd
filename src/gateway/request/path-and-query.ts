// Parses the path of a request: it is split first, then each segment is decoded once. The API server decodes first and
// does not clean the path: there, `%2f` separates segments and `..` is a name. A path with two readings is refused.
import { quoteForMessage } from '../../domain/json/json.ts'
import { type Refusal, type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { AMBIGUITY_ERRORS } from './errors.ts'

/** Parses a raw path; empty means `/`. The last segment is empty after a trailing slash. */
export function parsePath(raw: string): Parsed<readonly string[]> {
  if (raw !== '' && !raw.startsWith('/')) return refused(refuse(AMBIGUITY_ERRORS.pathStart))
  const parts = raw.slice(1).split('/')
  const segments: string[] = []
  for (const part of parts) {
    const segment = percentDecode(part)
    if (segment === null) return refused(refuse(AMBIGUITY_ERRORS.pathEncoding))
    const isLast = segments.length === parts.length - 1
    const fault = segment === '' && isLast ? null : segmentFault(segment)
    if (fault !== null) return refused(refuse(fault))
    segments.push(segment)
  }
  return read(segments)
}

/** Encodes the path to forward. */
export const formatPath = (segments: readonly string[]): string =>
  `/${segments.map(percentEncode).join('/')}`

function segmentFault(segment: string): Refusal | null {
  if (segment === '') return AMBIGUITY_ERRORS.emptySegment
  if (segment === '.' || segment === '..') return AMBIGUITY_ERRORS.dotSegment
  // No object name has any of these characters: the API server stores no name with a slash or a percent sign.
  if (/[/\\%\p{Cc}]/u.test(segment)) return AMBIGUITY_ERRORS.pathCharacters
  return null
}

// Percent-encoding, limited to what the API server reads in the same way (contract 11.6).

/**
 * Decodes once; null for a broken escape, or bytes that are not UTF-8. The API server would accept such bytes, but the
 * gateway could not encode the same text again.
 */
function percentDecode(text: string): string | null {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Encodes every character that has a special meaning to some server on the way. */
const percentEncode = (text: string): string =>
  UNRESERVED.test(text)
    ? text
    : encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)

/** A text that needs no encoding: nearly every segment and parameter is one. */
const UNRESERVED = /^[\w.~-]*$/

/** A parsed value, or the answer that refuses its bytes. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly answer: BufferedAnswer }

/** A parsed value. */
export const read = <Value>(value: Value): Parsed<Value> => ({ ok: true, value })

/** A refusal; its message says what to send instead. */
export const refused = (answer: BufferedAnswer): Parsed<never> => ({ ok: false, answer })

// Parses the query of a request, decoded once. The API server drops pairs that it can't decode, and reads only one of
// several values of a parameter: the gateway refuses both (contract 11.6).

/** Decoded pairs, in the order of the request. */
export type Query = readonly (readonly [name: string, value: string])[]

/** Parameters that may be repeated: the API server reads all their values. Of any other it reads the first. */
const REPEATABLE: ReadonlySet<string> = new Set(['command', 'dryRun', 'exclude', 'ports'])

/** Maximum number of parameters. The API server ignores a query with more than 10,000. */
const MOST_PARAMETERS = 1000

/**
 * Parses a raw query without its question mark. Empty pairs are left out.
 *
 * @param mayRepeat whether parameters may be repeated: the query has one reader
 */
export function parseQuery(
  raw: string,
  { mayRepeat }: { readonly mayRepeat: boolean },
): Parsed<Query> {
  if (raw.includes(';')) return refused(refuse(AMBIGUITY_ERRORS.querySemicolon))
  const parts = raw.split('&').filter((part) => part !== '')
  if (parts.length > MOST_PARAMETERS)
    return refused(refuse(AMBIGUITY_ERRORS.queryLength, { count: MOST_PARAMETERS }))
  const pairs: (readonly [string, string])[] = []
  for (const part of parts) {
    const pair = pairOf(part)
    if (pair === null) return refused(refuse(AMBIGUITY_ERRORS.queryEncoding))
    pairs.push(pair)
  }
  const repeatedName = mayRepeat ? null : firstRepeated(pairs)
  if (repeatedName !== null)
    return refused(
      refuse(AMBIGUITY_ERRORS.parameterRepeated, { parameter: quoteForMessage(repeatedName) }),
    )
  return read(pairs)
}

/** Encodes the query to forward, without a question mark. */
export const formatQuery = (query: Query): string =>
  query.map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`).join('&')

/** The value of a parameter that may not be repeated; null = absent. */
export const valueOf = (query: Query, name: string): string | null =>
  query.find(([other]) => other === name)?.[1] ?? null

/** The value of a parameter that may not be repeated; empty when it is absent. */
export const parameter = (query: Query, name: string): string => valueOf(query, name) ?? ''

/** The parameters of a query that have one of these names. */
export const pick = (query: Query, names: readonly string[]): Query =>
  query.filter(([name]) => names.includes(name))

function pairOf(part: string): readonly [string, string] | null {
  const at = part.indexOf('=')
  const name = formDecode(at === -1 ? part : part.slice(0, at))
  const value = at === -1 ? '' : formDecode(part.slice(at + 1))
  return name === null || value === null ? null : [name, value]
}

const formDecode = (text: string): string | null => percentDecode(text.replaceAll('+', ' '))

function firstRepeated(query: Query): string | null {
  const seen = new Set<string>()
  for (const [name] of query) {
    if (seen.has(name) && !REPEATABLE.has(name)) return name
    seen.add(name)
  }
  return null
}
