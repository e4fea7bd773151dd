// The rights that self-service gives a caller on our kinds, for self reviews (contract 11.3, 12.1, 12.3): RBAC does not
// know of it.
import { ACCESS_KEYS, CONFIGS, type Resource, USERS } from '../../api/names.ts'
import type { RequestInfo } from '../../domain/scope/request-info.ts'
import type { OwnRights, OwnRule } from '../proxy/self-subject-access-review.ts'
import {
  OWN_RESOURCES,
  type SelfServiceRequest,
  type Verb,
  type Viewer,
  VERBS,
  isRead,
} from './request.ts'
import { type UpstreamClient, sendAndRead } from './upstream-client.ts'
import { hasOwn, isHidden, isOwn, isOwnUser, isVisible } from './visibility.ts'

/** The parts of a request that decide on the caller's rights. */
type RightsHolder = Pick<SelfServiceRequest, 'access' | 'findKey'> & UpstreamClient

/** The rights of a caller by self-service, whatever RBAC grants. The scope of its key is not considered here. */
export const ownRightsOf = (holder: RightsHolder): OwnRights => ({
  reasonFor: (reviewed) => reasonFor(holder, reviewed),
  rules: [...OWN_RESOURCES.values()].flatMap((resource): readonly OwnRule[] => {
    const verbs = verbsOn({ info: { resource }, access: holder.access })
    return verbs.length === 0 ? [] : [{ resource, verbs }]
  }),
})

/** The verbs that self-service gives on a kind: all on own objects, the reading verbs on Configs, get on the own User. */
function verbsOn(viewer: Omit<Viewer, 'findKey'>): readonly Verb[] {
  if (viewer.info.resource === CONFIGS) return VERBS.filter(isRead)
  if (viewer.info.resource === USERS) return viewer.access.user === null ? [] : ['get']
  return hasOwn(viewer) ? VERBS : []
}

async function reasonFor(holder: RightsHolder, reviewed: RequestInfo): Promise<string | null> {
  if ('path' in reviewed) return null
  const resource = OWN_RESOURCES.get(reviewed.resource)
  if (resource === undefined) return null
  const { verb, subresource, name } = reviewed
  const isServed = verbsOn({ info: { resource }, access: holder.access }).some(
    (one) => one === verb,
  )
  // A write of status goes upstream as the caller.
  const isAsked = subresource === '' || (subresource === 'status' && verb === 'get')
  if (!isServed || !isAsked) return null
  const isOfOne = name !== '' && verb !== 'create' && resource !== CONFIGS
  return !isOfOne || (await isOwnObject(holder, resource, name)) ? reasonOf(resource) : null
}

function reasonOf(resource: Resource): string {
  if (resource === CONFIGS) return 'read only'
  if (resource === USERS) return 'own user only'
  return resource === ACCESS_KEYS ? 'own access keys only' : 'own tokens only'
}

/** Whether the caller sees and owns the object of this name. @throws UpstreamUnavailable, BufferFull */
async function isOwnObject(
  holder: RightsHolder,
  resource: Resource,
  name: string,
): Promise<boolean> {
  if (isHidden(resource, name)) return false
  const { status, json } = await sendAndRead(holder, {
    as: 'gateway',
    method: 'GET',
    resource,
    name,
    query: [],
  })
  const viewer: Viewer = { ...holder, info: { resource } }
  const isMine = isOwn(viewer, json) || isOwnUser(viewer, json)
  return status === 200 && isVisible(viewer, json) && isMine
}
