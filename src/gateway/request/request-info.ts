// Computes RequestInfo by the rules of the API server (contract 11.6): scopes are decided by the attributes that the
// API server authorizes and audits.
import type { RequestInfo, RequestTarget } from '../../domain/scope/request-info.ts'
import { refuse } from '../../serving/http/answer.ts'
import { AMBIGUITY_ERRORS } from './errors.ts'
import { isLabelSelector } from './label-selector.ts'
import { type Parsed, type Query, read, refused, valueOf } from './path-and-query.ts'

/** The parsed parts of a request. */
interface RequestParts {
  readonly method: Method
  /** As `parsePath` returns them. */
  readonly segments: readonly string[]
  readonly query: Query
}

/** The number of segments before the resource, by the first segment. */
const BEFORE_RESOURCE: ReadonlyMap<string, number> = new Map([
  ['api', 2],
  ['apis', 3],
])

/** Old spellings of verbs in the place of the resource: the API server reads them by other rules. */
const LEGACY_VERBS: ReadonlySet<string> = new Set(['watch', 'proxy'])

/** The subresources of a namespace. Any other segment after the name of a namespace is a resource in it. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize'])

const VERBS: Readonly<Record<Method, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** The RequestInfo of a request to a target, or the refusal of a request that could be read differently. */
export function requestInfoOf(request: RequestParts, target: RequestTarget): Parsed<RequestInfo> {
  const { method, segments } = request
  const parts = segments.at(-1) === '' ? segments.slice(0, -1) : segments
  const before = BEFORE_RESOURCE.get(parts[0] ?? '')
  if (before === undefined || parts.length <= before)
    return read({ target, verb: method.toLowerCase(), path: `/${segments.join('/')}` })
  if (LEGACY_VERBS.has(parts[before] ?? '')) return refused(refuse(AMBIGUITY_ERRORS.legacyVerb))
  const resource = apiResourceOf(parts, before)
  const verbAndName = verbAndNameOf(request, resource.name)
  if (!verbAndName.ok) return verbAndName
  return read({ target, ...resource, ...verbAndName.value })
}

/**
 * The number of segments up to and with the subresource `proxy`, where the path has one; null = it has none.
 *
 * @param parts the segments as they were sent
 */
export function proxySegments(parts: readonly string[]): number | null {
  const before = BEFORE_RESOURCE.get(parts[0] ?? '')
  if (before === undefined || LEGACY_VERBS.has(parts[before] ?? '')) return null
  const { resource, name, subresource, skipped } = resourceOf(parts.slice(before))
  return subresource === 'proxy' && resource !== '' && name !== '' ? before + skipped + 3 : null
}

/**
 * The RequestInfo of a request to `proxy`, by any method.
 *
 * @param segments up to and with `proxy`, as `proxySegments` counts them
 */
export function proxyInfoOf(
  method: string,
  segments: readonly string[],
  target: RequestTarget,
): RequestInfo {
  const resource = apiResourceOf(segments, BEFORE_RESOURCE.get(segments[0] ?? '') ?? 0)
  // The API server has no verb for other methods, and RBAC grants that to `*` only.
  return { target, ...resource, verb: isMethod(method) ? VERBS[method] : '' }
}

/** The resource with its group and version, of all segments; `before` as in BEFORE_RESOURCE. */
function apiResourceOf(segments: readonly string[], before: number) {
  const [prefix, group = ''] = segments
  const { skipped: _, ...resource } = resourceOf(segments.slice(before))
  return {
    group: prefix === 'api' ? '' : group,
    version: segments[before - 1] ?? '',
    ...resource,
  }
}

/** The resource, and the number of segments before it. */
function resourceOf(parts: readonly string[]) {
  const [first, namespace = '', inside] = parts
  if (first !== 'namespaces') return { ...namedResource('', parts), skipped: 0 }
  const isOfNamespace = inside === undefined || NAMESPACE_SUBRESOURCES.has(inside)
  const skipped = isOfNamespace ? 0 : 2
  return { ...namedResource(namespace, parts.slice(skipped)), skipped }
}

/** Segments after the subresource are not part of RequestInfo. */
function namedResource(namespace: string, parts: readonly string[]) {
  const [resource = '', name = '', subresource = ''] = parts
  return { namespace, resource, name, subresource }
}

/** The verb, and the name from the path or from a field selector. */
function verbAndNameOf(
  { method, query }: RequestParts,
  name: string,
): Parsed<{ readonly verb: string; readonly name: string }> {
  const verb = VERBS[method]
  if (name !== '') return read({ verb, name })
  if (verb === 'get') return readListOptions(query)
  return read({ verb: verb === 'delete' ? 'deletecollection' : verb, name })
}

// The parameters of a list may make it a watch, or a list of one name. The API server authorizes a list with
// fieldSelector=metadata.name=x as a list of x, but only when it can parse all parameters that it knows. If the gateway
// can't be certain of that, it refuses such a list (contract 11.6).

/** The verb and name of a list or watch. */
interface VerbAndName {
  readonly verb: 'list' | 'watch'
  /** The only name that it selects; empty = any name. */
  readonly name: string
}

/** Reads the parameters of a GET whose path names no object. */
function readListOptions(query: Query): Parsed<VerbAndName> {
  const watch = valueOf(query, 'watch') ?? 'false'
  // The API server compares without case; beyond ASCII, in one of two ways.
  if (/[^ -~]/.test(watch)) return refused(refuse(AMBIGUITY_ERRORS.watchParameter))
  const verb = watch === '0' || watch.toLowerCase() === 'false' ? 'list' : 'watch'
  const name = selectedName(valueOf(query, 'fieldSelector') ?? '')
  if (!name.ok) return name
  const unreadable = name.value === '' ? undefined : query.find(isUnreadable)
  if (unreadable)
    return refused(refuse(AMBIGUITY_ERRORS.parameterUnreadable, { parameter: unreadable[0] }))
  return read({ verb, name: name.value })
}

const isInteger = (value: string): boolean => /^[-+]?\d{1,18}$/.test(value)

/** The list parameters that the API server may fail to parse, with a check for values that it certainly parses. */
const READABLE: ReadonlyMap<string, (value: string) => boolean> = new Map([
  ['limit', isInteger],
  ['timeoutSeconds', isInteger],
  ['labelSelector', isLabelSelector],
])

const isUnreadable = ([name, value]: Query[number]): boolean =>
  READABLE.get(name)?.(value) === false

/** The name that a field selector requires; empty = none, or one that no object can have. */
function selectedName(selector: string): Parsed<string> {
  const names: string[] = []
  for (const term of termsOf(selector)) {
    const [, field, operator, escaped = '\\'] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? []
    const value = unescaped(escaped)
    if (value === null) return refused(refuse(AMBIGUITY_ERRORS.fieldSelectorTerms))
    if (field === 'metadata.name' && operator !== '!=') names.push(value)
  }
  if (names.length > 1) return refused(refuse(AMBIGUITY_ERRORS.fieldSelectorNames))
  const [name = ''] = names
  return read(name === '.' || name === '..' || /[/%]/.test(name) ? '' : name)
}

/** The terms of a field selector: split at unescaped commas, without empty terms. */
const termsOf = (selector: string): readonly string[] =>
  selector.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? []

/** The value of a term without escapes; null when it is malformed. */
const unescaped = (value: string): string | null =>
  /^(?:[^\\,=]|\\[\\,=])*$/.test(value) ? value.replace(/\\(.)/g, '$1') : null

/**
 * The methods that are forwarded; the API server answers no others. There, OPTIONS has the empty verb, which no rule
 * can grant, TRACE and CONNECT have none, and a method in lower case is unknown.
 */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** One of METHODS. */
type Method = (typeof METHODS)[number]

/** Whether it is one of METHODS. */
export const isMethod = (method: string): method is Method =>
  (METHODS as readonly string[]).includes(method)
