// What of a request to our own kinds is understood. Everything else is refused.
import { ACCESS_KEYS, CONFIGS, HEARTBEAT_KEY, type Resource, TOKENS } from '../../api/names.ts'
import { isResourceRequest } from '../../domain/scope/sensitive.ts'
import type { ApiRequest } from '../request/api-request.ts'

/** The verbs that our kinds have. */
export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'

/** A request to one of our kinds. */
export interface Asked {
  readonly resource: Resource
  readonly verb: Verb
  /** Empty where it names no object. */
  readonly name: string
  readonly isStatus: boolean
}

/** Which methods stand for a verb: the API server answers no others on these paths. */
const METHODS: Readonly<Record<Verb, string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
}

/** What is possible on status. */
const STATUS_VERBS: ReadonlySet<Verb> = new Set(['get', 'update', 'patch'])

const RESOURCES: ReadonlyMap<string, Resource> = new Map(
  [ACCESS_KEYS, TOKENS, CONFIGS].map((resource) => [resource.plural, resource]),
)

/** The request as it is understood; null where it is none of ours, or has a shape that they do not have. */
export function askedOf({
  attributes,
  method,
}: Pick<ApiRequest, 'attributes' | 'method'>): Asked | null {
  if (!isResourceRequest(attributes)) return null
  const { verb, namespace, version, subresource, name } = attributes
  const resource = RESOURCES.get(attributes.resource)
  if (!resource || version !== resource.version || namespace !== '') return null
  if (!isVerb(verb) || METHODS[verb] !== method) return null
  const isStatus = subresource === 'status'
  if (subresource !== '' && !(isStatus && STATUS_VERBS.has(verb))) return null
  // A list may have a name too, by its selector.
  const isNamed = NAMED.has(verb)
  if (isNamed ? name === '' : verb === 'create' && name !== '') return null
  return { resource, verb, name: isNamed ? name : '', isStatus }
}

/** On one object, by its name in the path. */
const NAMED: ReadonlySet<Verb> = new Set(['get', 'update', 'patch', 'delete'])

const isVerb = (verb: string): verb is Verb => Object.hasOwn(METHODS, verb)

/** The key by which gateways prove that they hear of changes: nobody's business (contract 10.4). */
export const isHidden = ({ plural }: Resource, name: string): boolean =>
  plural === ACCESS_KEYS.plural && name === HEARTBEAT_KEY
