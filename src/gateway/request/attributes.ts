// What a request is about, by the rules of the API server (contract 11.6): its RequestInfo. What it
// authorizes and audits is what a scope decides on here.
import type { ScopedRequest, Target } from '../../domain/scope/request-info.ts'
import { readListOptions } from './list-options.ts'
import type { Method } from './method.ts'
import type { Query } from './query.ts'
import { type Reading, read, refused } from './reading.ts'

/** A request as the API server takes it, whatever its target. */
export interface Asked {
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
export function attributesOf(asked: Asked, target: Target): Reading<ScopedRequest> {
  const { method, segments } = asked
  const parts = segments.at(-1) === '' ? segments.slice(0, -1) : segments
  const [prefix = '', group = ''] = parts
  const before = BEFORE_RESOURCE.get(prefix)
  if (before === undefined || parts.length <= before)
    return read({ target, verb: method.toLowerCase(), path: `/${segments.join('/')}` })
  if (LEGACY_VERBS.has(parts[before] ?? ''))
    return refused('the path must name a resource: a watch is a GET with watch=true')
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
): Reading<{ readonly verb: string; readonly name: string }> {
  const verb = VERBS[method]
  if (name !== '') return read({ verb, name })
  if (verb === 'get') return readListOptions(query)
  return read({ verb: verb === 'delete' ? 'deletecollection' : verb, name })
}
