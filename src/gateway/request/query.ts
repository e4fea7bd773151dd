// The query of a request, decoded once. The API server drops what it can't decode and goes on with the rest,
// and reads one of several values: either is refused here (contract 11.6).
import { quoteForMessage } from '../../domain/json/json.ts'
import { refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { type Parsed, percentDecode, percentEncode, read, refused } from './path.ts'

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
