// Mutating admission: the object that is stored for the one that a client creates (contract 12.2, 12.3).
import { ACCESS_KEYS, type Resource, TOKENS } from '../../api/names.ts'
import { nestedString } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import type { ClaimedObject } from '../../issuance/claim.ts'
import { newKeyObject, newTokenObject, withCreation, withTtl } from '../../issuance/new-object.ts'
import { longestTtl } from './escalation.ts'
import { selfServiceObstacle } from './other-keys.ts'
import type { CallerAccess } from './request.ts'

/**
 * Whether self-service creates the object as the caller's own. Any other create goes to the API server as the caller,
 * where RBAC and the policies decide (contract 12.1, 12.3).
 */
export const isForSelf = (resource: Resource, sent: JsonMap, access: CallerAccess): boolean =>
  resource === TOKENS ||
  (resource === ACCESS_KEYS &&
    access.user !== null &&
    selfServiceObstacle(sent, access.user) === null)

/**
 * The object for the dry run. `finished` adds the fields that depend on the answer to the dry run.
 *
 * @param resource ACCESS_KEYS or TOKENS
 */
export function defaulted(
  resource: Resource,
  sent: JsonMap,
  access: CallerAccess,
  newKey: () => string,
): ClaimedObject {
  const { user, key, isPerson, scope } = access
  if (resource === TOKENS) return newTokenObject(sent, key)
  const issuer = isForSelf(resource, sent, access) ? { ref: key, isPerson, scope } : null
  return newKeyObject(user, { sent, newKey, issuer })
}

/**
 * The object to store. The creationTimestamp of the dry run becomes the start of a key's lifetime (contract 2.8). A key
 * without a ttl gets the rest of the calling key's lifetime, unless a person calls.
 *
 * @param dryRun the answer to the dry run
 */
export function finished(
  resource: Resource,
  draft: ClaimedObject,
  dryRun: JsonMap,
  access: CallerAccess,
): ClaimedObject {
  if (resource !== ACCESS_KEYS) return draft
  const created = withCreation(draft, nestedString(dryRun, ['metadata', 'creationTimestamp']))
  const { expiresMs, isPerson } = access
  const isBound = isForSelf(resource, draft.object, access) && !isPerson && expiresMs !== null
  return isBound ? withTtl(created, longestTtl(dryRun, expiresMs)) : created
}
