// A request to our own kinds, with all that its handlers need (contract 12.1).
import { ACCESS_KEYS, CONFIGS, type Resource, TEAMS, TOKENS, USERS } from '../../api/names.ts'
import type { Scope } from '../../api/scope.gen.ts'
import { type KeyCaller, keyCaller } from '../../authn/caller.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { usernameIn } from '../../domain/people/user.ts'
import { isResourceRequest } from '../../domain/scope/request-info.ts'
import type { KeyRef } from '../../domain/shared-metadata.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import type { ParsedRequest } from '../request/parse.ts'
import type { Query } from '../request/path-and-query.ts'
import type { MaxInFlight } from '../streams/max-in-flight.ts'
import type { RequestLease } from '../streams/request-lease.ts'
import type { Form, IncludeObject } from './response.ts'
import type { BufferReservation } from './response-buffer.ts'

/** A request to our kinds. A function that needs only a part of it takes that part, such as `Viewer`. */
export interface SelfServiceRequest {
  readonly info: SelfServiceInfo
  /** As the client sent it. */
  readonly query: Query
  readonly call: HttpRequest
  readonly caller: KeyCaller
  readonly access: CallerAccess
  readonly findKey: FindKey
  readonly form: Form
  readonly include: IncludeObject
  readonly upstream: Pick<Upstream, 'send'>
  /** The limits of this replica: the gateway filters some lists and watches on its only event loop. */
  readonly limits: MaxInFlight
  /** The memory that the answer holds until the client has read it. */
  readonly reservation: BufferReservation
  readonly clock: Clock
  /** Aborts when the client disconnects or its key ends. */
  readonly signal: AbortSignal
  readonly still: RequestLease['still']
  /** Asked right before each write that is stored. */
  readonly maySend: RequestLease['maySend']
}

/** The part of a request that decides which objects of a kind the caller sees. */
export interface Viewer extends Pick<SelfServiceRequest, 'access' | 'findKey'> {
  readonly info: Pick<SelfServiceInfo, 'resource'>
}

/**
 * Authenticates the caller of the request again. Await it right before a write: the body or the dry run may have taken
 * long.
 *
 * @throws Error when the key has ended
 */
export async function reauthenticated(request: SelfServiceRequest): Promise<SelfServiceRequest> {
  const caller = keyCaller(await request.still())
  return { ...request, caller, access: callerAccessOf(caller) }
}

/** The request for writes that belong to one that was carried out: they are sent although the key has ended since. */
export const afterWrite = (request: SelfServiceRequest): SelfServiceRequest => ({
  ...request,
  maySend: () => true,
})

/** The rights of a caller on keys and tokens. */
export interface CallerAccess {
  /** The user whose keys the caller owns; null for the key of a team or subject, which owns no keys. */
  readonly user: string | null
  /** The impersonated user name. The API server can't tell two keys with the same name apart (contract 10.5). */
  readonly runsAs: string
  readonly key: KeyRef
  /** Groups that the calling key adds to its user. */
  readonly groups: readonly string[]
  /** null = the user's full rights. */
  readonly scope: Scope | null
  /** The caller uses a Login key without a scope: the user acts in person. */
  readonly isPerson: boolean
  /** When the calling key stops working, epoch milliseconds; null = never. */
  readonly expiresMs: number | null
}

/** Finds a key by name in the informer's store. */
export type FindKey = (name: string) => AccessKey | undefined

/** The rights of a caller, by the key that authenticated it. */
export function callerAccessOf({
  key,
  identity: { user: runsAs },
  expiresMs,
}: KeyCaller): CallerAccess {
  const { name, uid, identity, groups, scope, type } = key
  return {
    user: usernameIn(identity),
    runsAs,
    key: { name, uid },
    groups,
    scope,
    isPerson: type === 'Login' && scope === null,
    expiresMs,
  }
}

/** The verbs that our kinds support. */
export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'

/** The RequestInfo of a request to one of our kinds. */
export interface SelfServiceInfo {
  readonly resource: Resource
  readonly verb: Verb
  /** Empty where the path names no object. */
  readonly name: string
  readonly isStatus: boolean
}

/** The HTTP method of each verb: the API server serves no others on these paths. */
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

const STATUS_VERBS: ReadonlySet<Verb> = new Set(['get', 'update', 'patch'])

/** All verbs that our kinds support. */
export const VERBS = Object.keys(METHODS) as readonly Verb[]

/** Whether a verb only reads. */
export const isRead = (verb: Verb): boolean => METHODS[verb] === 'GET'

/** Our kinds, by plural. */
export const OWN_RESOURCES: ReadonlyMap<string, Resource> = new Map(
  [ACCESS_KEYS, TOKENS, CONFIGS, USERS, TEAMS].map((resource) => [resource.plural, resource]),
)

/** Whether callers own objects of the kind: keys and tokens. All writes of the other kinds go upstream as the caller. */
export const isOwnable = (resource: Resource): boolean =>
  resource === ACCESS_KEYS || resource === TOKENS

/** The RequestInfo of a request to our kinds; null for another kind, or a path and verb that our kinds do not have. */
export function selfServiceInfoOf({
  attributes,
  method,
}: Pick<ParsedRequest, 'attributes' | 'method'>): SelfServiceInfo | null {
  if (!isResourceRequest(attributes)) return null
  const { verb, namespace, version, subresource, name } = attributes
  const resource = OWN_RESOURCES.get(attributes.resource)
  if (!resource || version !== resource.version || namespace !== '') return null
  if (!isVerb(verb) || METHODS[verb] !== method) return null
  const isStatus = subresource === 'status'
  if (subresource !== '' && !(isStatus && STATUS_VERBS.has(verb))) return null
  // A list may have a name too, from its field selector.
  const isNamed = NAMED_VERBS.has(verb)
  if (isNamed ? name === '' : verb === 'create' && name !== '') return null
  return { resource, verb, name: isNamed ? name : '', isStatus }
}

/** Verbs that name one object in the path. */
const NAMED_VERBS: ReadonlySet<Verb> = new Set(['get', 'update', 'patch', 'delete'])

const isVerb = (verb: string): verb is Verb => Object.hasOwn(METHODS, verb)
