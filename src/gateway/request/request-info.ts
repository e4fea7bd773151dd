// What a request is about, by the rules of the API server (contract 11.6): its RequestInfo. What it
// authorizes and audits is what a scope decides on here.
import type { RequestInfo, RequestTarget } from '../../domain/scope/request-info.ts'
import { refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { isLabelSelector } from './label-selector.ts'
import { type Parsed, type Query, read, refused, valueOf } from './path-and-query.ts'

/** A request as the API server takes it, whatever its target. */
interface Asked {
  readonly method: Method
  /** As `readPath` gives them. */
  readonly segments: readonly string[]
  readonly query: Query
}

/** How many segments stand before the resource. */
const BEFORE_RESOURCE: ReadonlyMap<string, number> = new Map([
  ['api', 2],
  ['apis', 3],
])

/** Where a resource should stand, they are an old spelling of a verb, with rules of its own. */
const LEGACY_VERBS: ReadonlySet<string> = new Set(['watch', 'proxy'])

/** Of a namespace itself; anything else behind its name is a resource in it. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize'])

const VERBS: Readonly<Record<Method, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** The attributes of a request to a target. */
export function requestInfoOf(asked: Asked, target: RequestTarget): Parsed<RequestInfo> {
  const { method, segments } = asked
  const parts = segments.at(-1) === '' ? segments.slice(0, -1) : segments
  const [prefix = '', group = ''] = parts
  const before = BEFORE_RESOURCE.get(prefix)
  if (before === undefined || parts.length <= before)
    return read({ target, verb: method.toLowerCase(), path: `/${segments.join('/')}` })
  if (LEGACY_VERBS.has(parts[before] ?? '')) return refused(refuse(ERRORS.legacyVerb))
  const place = placeOf(parts.slice(before))
  const act = actOf(asked, place.name)
  if (!act.ok) return act
  const kind = { group: prefix === 'api' ? '' : group, version: parts[before - 1] ?? '' }
  return read({ target, ...kind, ...place, ...act.value })
}

function placeOf(parts: readonly string[]) {
  const [first, namespace = '', inside] = parts
  if (first !== 'namespaces') return instanceOf('', parts)
  const isOfNamespace = inside === undefined || NAMESPACE_SUBRESOURCES.has(inside)
  return instanceOf(namespace, isOfNamespace ? parts : parts.slice(2))
}

/** What stands behind a subresource is its own affair. */
function instanceOf(namespace: string, parts: readonly string[]) {
  const [resource = '', name = '', subresource = ''] = parts
  return { namespace, resource, name, subresource }
}

/** The verb, and the name that stands in the path or in a selector. */
function actOf(
  { method, query }: Asked,
  name: string,
): Parsed<{ readonly verb: string; readonly name: string }> {
  const verb = VERBS[method]
  if (name !== '') return read({ verb, name })
  if (verb === 'get') return readListOptions(query)
  return read({ verb: verb === 'delete' ? 'deletecollection' : verb, name })
}

// What the parameters of a list make of it: a watch, or a list of one name. The API server authorizes a
// list with fieldSelector=metadata.name=x as one of x, but only when it can read every parameter that
// it knows; where that is not certain, such a list is refused (contract 11.6).

/** What a list or watch is about. */
interface Listed {
  readonly verb: 'list' | 'watch'
  /** The only name that it may have; empty when it may have any. */
  readonly name: string
}

/** Reads the parameters of a GET that names no instance. */
function readListOptions(query: Query): Parsed<Listed> {
  const watch = valueOf(query, 'watch') ?? 'false'
  // The API server compares without case; beyond ASCII, in one of two ways.
  if (/[^ -~]/.test(watch)) return refused(refuse(ERRORS.watchParameter))
  const verb = watch === '0' || watch.toLowerCase() === 'false' ? 'list' : 'watch'
  const name = selectedName(valueOf(query, 'fieldSelector') ?? '')
  if (!name.ok) return name
  const unread = name.value === '' ? undefined : query.find(isUnreadable)
  if (unread) return refused(refuse(ERRORS.parameterUnreadable, { parameter: unread[0] }))
  return read({ verb, name: name.value })
}

const isInteger = (value: string): boolean => /^[-+]?\d{1,18}$/.test(value)

/** The parameters of a list that the API server may fail to read, and what it reads for certain. */
const READABLE: ReadonlyMap<string, (value: string) => boolean> = new Map([
  ['limit', isInteger],
  ['timeoutSeconds', isInteger],
  ['labelSelector', isLabelSelector],
])

const isUnreadable = ([name, value]: Query[number]): boolean =>
  READABLE.get(name)?.(value) === false

/** The name that a field selector demands; empty when it demands none that an object could have. */
function selectedName(selector: string): Parsed<string> {
  const names: string[] = []
  for (const term of termsOf(selector)) {
    const [, field, operator, escaped = '\\'] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? []
    const value = unescaped(escaped)
    if (value === null) return refused(refuse(ERRORS.fieldSelectorTerms))
    if (field === 'metadata.name' && operator !== '!=') names.push(value)
  }
  if (names.length > 1) return refused(refuse(ERRORS.fieldSelectorNames))
  const [name = ''] = names
  return read(name === '.' || name === '..' || /[/%]/.test(name) ? '' : name)
}

/** Cut at commas that no backslash escapes; empty terms don't count. */
const termsOf = (selector: string): readonly string[] =>
  selector.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? []

/** The value of a term; null when it is not well-formed. */
const unescaped = (value: string): string | null =>
  /^(?:[^\\,=]|\\[\\,=])*$/.test(value) ? value.replace(/\\(.)/g, '$1') : null

/**
 * The methods that are passed on. The API server answers none but these: OPTIONS has the empty verb there,
 * which no rule can grant, TRACE and CONNECT have none, and a method of lower-case letters is another one.
 */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** One of METHODS. */
type Method = (typeof METHODS)[number]

/** Whether it is one of METHODS. */
export const isMethod = (method: string): method is Method =>
  (METHODS as readonly string[]).includes(method)
