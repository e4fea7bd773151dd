// The path of a request: split first, then decoded, once. The API server decodes first and cleans nothing,
// so that `%2f` separates and `..` names there. Whatever could be read in two ways is refused.
import { quoteForMessage } from '../../domain/json/json.ts'
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
function percentDecode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Encodes every character that a server on the way could read as more than itself. */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)

/** A value read from bytes, or the answer that refuses them. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** A value that was read. */
export const read = <Value>(value: Value): Parsed<Value> => ({ ok: true, value })

/** A refusal; its message says what would be right. */
export const refused = (answer: WholeAnswer): Parsed<never> => ({ ok: false, answer })

// The query of a request, decoded once. The API server drops what it can't decode and goes on with the rest,
// and reads one of several values: either is refused here (contract 11.6).

/** Decoded pairs, in the order of the request. */
export type Query = readonly (readonly [name: string, value: string])[]

/** The API server reads every value of these; of any other parameter it reads the first. */
const REPEATABLE: ReadonlySet<string> = new Set(['command', 'dryRun', 'exclude', 'ports'])

/** With more than 10,000 the API server reads none of them at all. */
const MOST_PARAMETERS = 1000

/** The pairs of a query as it was sent, without its question mark. Pairs that are empty are left out. */
export function parseQuery(raw: string): Parsed<Query> {
  if (raw.includes(';')) return refused(refuse(ERRORS.querySemicolon))
  const parts = raw.split('&').filter((part) => part !== '')
  if (parts.length > MOST_PARAMETERS)
    return refused(refuse(ERRORS.queryLength, { count: MOST_PARAMETERS }))
  const pairs: (readonly [string, string])[] = []
  for (const part of parts) {
    const pair = pairOf(part)
    if (pair === null) return refused(refuse(ERRORS.queryEncoding))
    pairs.push(pair)
  }
  const twice = repeated(pairs)
  if (twice !== null)
    return refused(refuse(ERRORS.parameterRepeated, { parameter: quoteForMessage(twice) }))
  return read(pairs)
}

/** The query to send, without a question mark. */
export const formatQuery = (query: Query): string =>
  query.map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`).join('&')

/** The value of a parameter that is given once at most; null when it is absent. */
export const valueOf = (query: Query, name: string): string | null =>
  query.find(([other]) => other === name)?.[1] ?? null

/** The value of a parameter that is given once at most; empty when it is absent. */
export const parameter = (query: Query, name: string): string => valueOf(query, name) ?? ''

/** The parameters of a query that have one of these names. */
export const pick = (query: Query, names: readonly string[]): Query =>
  query.filter(([name]) => names.includes(name))

function pairOf(part: string): readonly [string, string] | null {
  const at = part.indexOf('=')
  const name = decodedForm(at === -1 ? part : part.slice(0, at))
  const value = at === -1 ? '' : decodedForm(part.slice(at + 1))
  return name === null || value === null ? null : [name, value]
}

const decodedForm = (text: string): string | null => percentDecode(text.replaceAll('+', ' '))

function repeated(query: Query): string | null {
  const seen = new Set<string>()
  for (const [name] of query) {
    if (seen.has(name) && !REPEATABLE.has(name)) return name
    seen.add(name)
  }
  return null
}
