// Decides which objects of our kinds a caller sees and owns, by its key and by RBAC (contract 12.1, 12.3).
import {
  ACCESS_KEYS,
  HEARTBEAT_NAME,
  type Resource,
  TEAMS,
  TOKENS,
  USERS,
} from '../../api/names.ts'
import type { ObjectMeta } from '../../api/objects.ts'
import type { Scope } from '../../api/scope.gen.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type KeyRef, owningKeyOf } from '../../domain/shared-metadata.ts'
import { nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { type JsonMap, quoteForMessage } from '../../domain/json/json.ts'
import { usernameIn } from '../../domain/people/user.ts'
import { firstUncoveredEntry } from '../../domain/scope/covers.ts'
import { fieldSelectorValue } from '../../kube/client/list.ts'
import { objectNameFor } from '../../people/people-index.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import { TOKEN } from '../../domain/redaction/fields.ts'
import type { VisibleSecrets } from '../../domain/redaction/redact.ts'
import { type Query, parameter, pick } from '../request/path-and-query.ts'
import { type Admission, type AdmissionKind, inFlightOwnerOf } from '../streams/max-in-flight.ts'
import {
  type FindKey,
  isOwnable,
  type SelfServiceInfo,
  type SelfServiceRequest,
  type Verb,
  type Viewer,
} from './request.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import { isAllowed } from './access-review.ts'
import type { UpstreamClient } from './upstream-client.ts'

/** Whether the name is that of a heartbeat, which no caller sees or writes (contract 10.4, 24.5). */
export const isHidden = (resource: Resource, name: string): boolean =>
  HEARTBEAT_KINDS.has(resource) && name === HEARTBEAT_NAME

const HEARTBEAT_KINDS: ReadonlySet<Resource> = new Set([ACCESS_KEYS, USERS, TEAMS])

/** Whether the caller owns an object (contract 12.1): a key of its user, or a token that such a key owns. */
export function isOwn({ info, access, findKey }: Viewer, object: JsonMap): boolean {
  const { user, key } = access
  if (info.resource === ACCESS_KEYS)
    return user !== null && nestedString(object, ['spec', 'user']) === user
  const owner = isOwnable(info.resource) ? ownerIn(object) : null
  if (owner === null) return false
  return owner.uid === key.uid || isKeyOf(user, owner, findKey)
}

/** Whether an object is the User that the caller's key names: everybody may get that (contract 12.1, 24.5). */
export const isOwnUser = (
  { info, access: { user } }: Omit<Viewer, 'findKey'>,
  object: JsonMap,
): boolean =>
  info.resource === USERS &&
  user !== null &&
  nestedString(object, ['metadata', 'name']) === objectNameFor(user) &&
  (nestedString(object, ['spec', 'username']) || nestedString(object, ['metadata', 'name'])) ===
    user

/** Whether the caller's scope lets it see an object. A caller without a scope sees every object (contract 12.3). */
export function isVisible({ info, access, findKey }: Viewer, object: JsonMap): boolean {
  const { scope, key } = access
  if (scope === null || !isOwnable(info.resource)) return true
  if (info.resource === ACCESS_KEYS)
    return nestedString(object, ['metadata', 'uid']) === key.uid || isInside(scopeIn(object), scope)
  const owner = ownerIn(object)
  if (owner === null) return false
  const ownerScope = owner.uid === key.uid ? scope : (storedKey(owner, findKey)?.scope ?? null)
  return isInside(ownerScope, scope) && isInside(scopeIn(object) ?? ownerScope, scope)
}

/** The hidden fields that an answer shows this caller: the tokens that it may read. */
export const shownTo =
  (viewer: Viewer): VisibleSecrets =>
  (object) =>
    viewer.info.resource === TOKENS && mayReadToken(viewer, object) ? [TOKEN] : []

/** A key that does not act as a person reads only tokens that end with it (contract 12.3, 12.4). */
function mayReadToken({ access, findKey }: Viewer, object: JsonMap): boolean {
  const { user, key, isPerson } = access
  const owner = ownerIn(object)
  if (owner === null) return false
  return owner.uid === key.uid || (isPerson && isKeyOf(user, owner, findKey))
}

/** Whether a scope is within another. A key without a scope is within none. */
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
const ownerIn = (object: JsonMap): KeyRef | null =>
  owningKeyOf(nestedMap(object, ['metadata']) as unknown as ObjectMeta)

const isKeyOf = (user: string | null, key: KeyRef, findKey: FindKey): boolean =>
  user !== null && usernameIn(storedKey(key, findKey)?.identity ?? null) === user

const storedKey = ({ name, uid }: KeyRef, findKey: FindKey): AccessKey | undefined => {
  const key = findKey(name)
  return key?.uid === uid ? key : undefined
}

// The objects of a collection that a request selects.

/** The objects of a collection that a request selects: `all` that RBAC shows the caller, or the caller's `own`. */
export type Selection = 'all' | 'own'

/** Whether a caller can own objects of the kind: a team or subject owns no keys, and Configs have no owner. */
export const hasOwn = ({ info, access }: Omit<Viewer, 'findKey'>): boolean =>
  info.resource === TOKENS || (info.resource === ACCESS_KEYS && access.user !== null)

/** Whether an object of a collection is selected. */
export const isSelected =
  (viewer: Viewer, selection: Selection) =>
  (object: JsonMap): boolean =>
    !isHidden(viewer.info.resource, nestedString(object, ['metadata', 'name'])) &&
    isVisible(viewer, object) &&
    (selection === 'all' || isOwn(viewer, object))

/** The selectors for the API server: the client's, and a field selector on the user if own keys are selected. */
export function selectorsFor(
  { info, query, access }: Pick<SelfServiceRequest, 'info' | 'query' | 'access'>,
  selection: Selection,
): Query {
  const selectors = pick(query, ['labelSelector', 'fieldSelector', 'timeoutSeconds'])
  if (selection === 'all' || info.resource !== ACCESS_KEYS || access.user === null) return selectors
  const userSelector = `spec.user=${fieldSelectorValue(access.user)}`
  const clientSelector = parameter(selectors, 'fieldSelector')
  return [
    ...selectors.filter(([name]) => name !== 'fieldSelector'),
    ['fieldSelector', clientSelector === '' ? userSelector : `${userSelector},${clientSelector}`],
  ]
}

// Lists and watches that the gateway filters, because no selector on the API server can. Each reads the objects
// of all users, however few the caller may see, on the event loop of all requests: so only few run at a time.

/** Whether the gateway filters every page or event itself (contract 12.1, 12.3). */
export const isFiltered = (
  { info, access }: Omit<Viewer, 'findKey'>,
  selection: Selection,
): boolean =>
  isOwnable(info.resource) &&
  (access.scope !== null || (selection === 'own' && info.resource === TOKENS))

const ADMITTED: Admission = { ok: true, release: () => undefined }

/** Admits a list or watch: at once where the API server filters, else within the limits (contract 13.3). */
export const admitted = (
  request: Pick<SelfServiceRequest, 'info' | 'access' | 'limits' | 'caller'>,
  selection: Selection,
  kind: Extract<AdmissionKind, 'filteredList' | 'filteredWatch'>,
): Admission =>
  isFiltered(request, selection)
    ? request.limits.admit(inFlightOwnerOf(request.caller), kind)
    : ADMITTED

// Objects of other users (contract 12.1). Unless RBAC grants such an object to the caller, the answer is the same as for
// a name that does not exist.

type AccessReviewRequest = Pick<SelfServiceRequest, 'info'> & UpstreamClient

/** Whether RBAC grants the caller the request's verb, or get: only then may the caller know of the object. */
export const isOpen = async (request: AccessReviewRequest): Promise<boolean> =>
  (await isGranted(request, request.info.verb)) || (await isGranted(request, 'get'))

/**
 * Whether RBAC grants the caller a verb, on the named object if the request names one. A 403 to the write itself would
 * not tell: it may come from an admission policy.
 */
export function isGranted(request: AccessReviewRequest, verb: Verb): Promise<boolean> {
  const { info } = request
  const { group, version, plural } = info.resource
  const resourceAttributes: JsonMap = {
    verb,
    group,
    version,
    resource: plural,
    ...(info.isStatus ? { subresource: 'status' } : {}),
    ...(info.name === '' ? {} : { name: info.name }),
  }
  return isAllowed(request, { resourceAttributes })
}

type Named = Pick<SelfServiceInfo, 'resource' | 'name'>

/**
 * The 404, also for an object that the caller may not know of. No part of it comes from the API server, whose answers
 * have audit ids.
 */
export const notFound = ({ resource, name }: Named): Answer =>
  refuse(SELF_SERVICE_ERRORS.objectNotFound, messageValues({ resource, name }))

/** The 409 to an apply with the name of another user's object, the same as to a create (contract 12.1). */
export const alreadyExists = ({ resource, name }: Named): Answer =>
  refuse(SELF_SERVICE_ERRORS.objectExists, messageValues({ resource, name }))

const messageValues = ({
  resource,
  name,
}: Named): { readonly resource: string; readonly name: string } => ({
  resource: `${resource.plural}.${resource.group}`,
  name: quoteForMessage(name),
})
