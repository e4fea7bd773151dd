// What somebody may see and do with keys by the key that he calls with (contract 12.1, 12.3).
import { ACCESS_KEYS, CONFIGS, SELF_SUBJECT_ACCESS_REVIEWS, TOKENS } from '../../api/names.ts'
import type { ObjectMeta } from '../../api/objects.ts'
import type { Scope } from '../../api/scope.gen.ts'
import type { Caller } from '../../authn/caller.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type KeyRef, owningKeyOf } from '../../domain/credential-object.ts'
import { nestedField, nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { type JsonMap, quoteForMessage } from '../../domain/json/json.ts'
import { firstUncoveredEntry } from '../../domain/scope/covers.ts'
import { type Answer, failure } from '../../serving/http/answer.ts'
import type { Query } from '../request/query.ts'
import type { Admission, AdmissionKind } from '../stages/max-in-flight.ts'
import {
  type Asked,
  type SelfServiceRequest,
  type Verb,
  ask,
  isHidden,
  parameter,
  pick,
} from './request.ts'

/** A caller, as far as keys and tokens go. */
export interface CallerAccess {
  /** Whose keys are his own; null for the key of a team or subject, which has none. */
  readonly user: string | null
  /** As whom he is known to the API server: two keys with the same are the same to it (contract 10.5). */
  readonly runsAs: string
  readonly key: KeyRef
  /** Groups that the calling key adds to its user. */
  readonly groups: readonly string[]
  /** null = the user's full rights. */
  readonly scope: Scope | null
  /** He calls with a Login key without a scope: the user himself acts. */
  readonly isPerson: boolean
  /** When the calling key stops working, epoch milliseconds; null = never. */
  readonly expiresMs: number | null
}

/** Finds a key by name among those that are known. */
export type FindKey = (name: string) => AccessKey | undefined

const USER = 'user:'

/** The standing of a caller. */
export function callerAccessOf({
  key,
  identity: { user: runsAs },
  expiresMs,
}: Caller): CallerAccess {
  const { name, uid, identity, groups, scope, type } = key
  return {
    user: identity?.startsWith(USER) ? identity.slice(USER.length) : null,
    runsAs,
    key: { name, uid },
    groups,
    scope,
    isPerson: type === 'Login' && scope === null,
    expiresMs,
  }
}

/** Whether an object is his own (contract 12.1): a key of his user, or a token that such a key owns. */
export function isOwn(
  asked: Pick<Asked, 'resource'>,
  object: JsonMap,
  standing: CallerAccess,
  find: FindKey,
): boolean {
  const { user, key } = standing
  if (asked.resource === ACCESS_KEYS)
    return user !== null && nestedString(object, ['spec', 'user']) === user
  const owner = asked.resource === CONFIGS ? null : ownerIn(object)
  if (owner === null) return false
  return owner.uid === key.uid || (user !== null && known(owner, find)?.identity === USER + user)
}

/** Whether he may know of an object at all: under a scope, only of what is within it (contract 12.3). */
export function isVisible(
  asked: Pick<Asked, 'resource'>,
  object: JsonMap,
  { scope, key }: CallerAccess,
  find: FindKey,
): boolean {
  if (scope === null || asked.resource === CONFIGS) return true
  if (asked.resource === ACCESS_KEYS)
    return nestedString(object, ['metadata', 'uid']) === key.uid || isInside(scopeIn(object), scope)
  const owner = ownerIn(object)
  if (owner === null) return false
  const ownerScope = owner.uid === key.uid ? scope : (known(owner, find)?.scope ?? null)
  return isInside(ownerScope, scope) && isInside(scopeIn(object) ?? ownerScope, scope)
}

/**
 * Whether a caller is shown the token in a token's status: his own, and with a key that does not stand
 * for him in person only one that ends with that key (contract 12.3, 12.4).
 */
export function mayReadToken(object: JsonMap, standing: CallerAccess, find: FindKey): boolean {
  const { user, key, isPerson } = standing
  const owner = ownerIn(object)
  if (owner === null) return false
  if (owner.uid === key.uid) return true
  return isPerson && user !== null && known(owner, find)?.identity === USER + user
}

/** Without a scope it is wider than any. */
const isInside = (child: Scope | null, parent: Scope): boolean =>
  child !== null && firstUncoveredEntry(child, parent) === null

/** The scope of a key or token; null where it has none. */
export function scopeIn(object: JsonMap): Scope | null {
  const spec = nestedMap(object, ['spec'])
  return Object.hasOwn(spec, 'scope') && spec['scope'] !== null
    ? (spec['scope'] as unknown as Scope)
    : null
}

/** The access key that controls an object; null = none. */
export const ownerIn = (object: JsonMap): KeyRef | null =>
  owningKeyOf(nestedMap(object, ['metadata']) as unknown as ObjectMeta)

const known = ({ name, uid }: KeyRef, find: FindKey): AccessKey | undefined => {
  const key = find(name)
  return key?.uid === uid ? key : undefined
}

// Which objects of a collection a request is about (contract 12.1, 12.3).

/** Teams and subjects have no keys of their own. */
export const hasOwn = ({
  asked,
  standing,
}: Pick<SelfServiceRequest, 'asked' | 'standing'>): boolean =>
  asked.resource === TOKENS || (asked.resource === ACCESS_KEYS && standing.user !== null)

/** Whether an object belongs to what a request is about. */
export const isListed =
  ({ asked, standing, find }: SelfServiceRequest, whose: Whose) =>
  (object: JsonMap): boolean =>
    !isHidden(asked.resource, nestedString(object, ['metadata', 'name'])) &&
    isVisible(asked, object, standing, find) &&
    (whose === 'all' || isOwn(asked, object, standing, find))

const SELECTS = ['labelSelector', 'fieldSelector', 'timeoutSeconds']

/** What selects the objects: the client's selectors, and, of own keys, a selector on their user. */
export function selecting({ asked, query, standing }: SelfServiceRequest, whose: Whose): Query {
  const chosen = pick(query, SELECTS)
  if (whose === 'all' || asked.resource !== ACCESS_KEYS || standing.user === null) return chosen
  const mine = `spec.user=${standing.user.replace(/[\\,=]/g, '\\$&')}`
  const theirs = parameter(chosen, 'fieldSelector')
  return [
    ...chosen.filter(([name]) => name !== 'fieldSelector'),
    ['fieldSelector', theirs === '' ? mine : `${mine},${theirs}`],
  ]
}

// Lists and watches that the gateway filters, because no selector on the API server can. Each reads the objects
// of all users, however few the caller may see, on the event loop of all requests: so few may run at a time.

/** The objects of a collection that a request is about: those that RBAC shows the caller, or their own. */
export type Whose = 'all' | 'own'

/** Whether the gateway filters every page or event itself (contract 12.1, 12.3). */
export const isFiltered = (
  { asked, standing }: Pick<SelfServiceRequest, 'asked' | 'standing'>,
  whose: Whose,
): boolean =>
  asked.resource !== CONFIGS &&
  (standing.scope !== null || (whose === 'own' && asked.resource === TOKENS))

const FREE: Admission = { ok: true, release: () => undefined }

/** Whether the request may filter now; always, where a selector on the API server does it (contract 13.3). */
export const admitted = (
  exchange: SelfServiceRequest,
  whose: Whose,
  kind: Extract<AdmissionKind, 'filteredList' | 'filteredWatch'>,
): Admission =>
  isFiltered(exchange, whose) ? exchange.limits.admit(exchange.caller.key.uid, kind) : FREE

// Keys and tokens of somebody else (contract 12.1): to whom RBAC opens nothing of one, its name is like a name
// that nobody has, whatever he sends.

/** Whether RBAC opens to the caller what he asks for, or lets him read the object: then he may know of it. */
export const isOpen = async (exchange: SelfServiceRequest): Promise<boolean> =>
  (await isGranted(exchange, exchange.asked.verb)) || (await isGranted(exchange, 'get'))

/**
 * Whether RBAC grants a verb to the caller, on the object that he names if he names one. A refused write does
 * not say whether it was RBAC or a policy that refused it.
 */
export async function isGranted(exchange: SelfServiceRequest, verb: Verb): Promise<boolean> {
  const { asked, caller } = exchange
  const { group, version, plural } = asked.resource
  const resourceAttributes: JsonMap = {
    verb,
    group,
    version,
    resource: plural,
    ...(asked.isStatus ? { subresource: 'status' } : {}),
    ...(asked.name === '' ? {} : { name: asked.name }),
  }
  const { group: apiGroup, version: apiVersion, kind } = SELF_SUBJECT_ACCESS_REVIEWS
  const json = { apiVersion: `${apiGroup}/${apiVersion}`, kind, spec: { resourceAttributes } }
  const reply = await ask(exchange, {
    as: { caller },
    method: 'POST',
    resource: SELF_SUBJECT_ACCESS_REVIEWS,
    query: [],
    body: { type: 'application/json', json },
  })
  return nestedField(reply.json, ['status', 'allowed']) === true
}

/** Also of what is there, and with nothing of the API server's, whose answers are numbered. */
export const notFound = ({
  asked: { resource, name },
}: Pick<SelfServiceRequest, 'asked'>): Answer =>
  failure('NotFound', `${resource.plural}.${resource.group} ${quoteForMessage(name)} not found`)

/** The answer to an apply, which would make what is not there: that a name is taken it tells as a create does. */
export const taken = ({ asked: { resource, name } }: Pick<SelfServiceRequest, 'asked'>): Answer =>
  failure(
    'AlreadyExists',
    `${resource.plural}.${resource.group} ${quoteForMessage(name)} already exists`,
  )
