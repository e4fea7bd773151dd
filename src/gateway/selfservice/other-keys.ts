// Writes of keys outside self-service: RBAC decides on them, and where it refuses, the answer names the field
// that takes the write out of self-service (contract 12.1).
import { nestedString } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { KEY, isDigest } from '../../domain/redaction/fields.ts'
import type { UpstreamReply } from './response.ts'
import type { FieldRefusal } from './write-options.ts'

/** The types of keys that users create for themselves. */
const OWN_TYPES: readonly string[] = ['', 'User', 'Other']

/** The field that keeps a new key out of this user's self-service, and why; null = self-service may create it. */
export function selfServiceObstacle(sent: JsonMap, user: string): FieldRefusal | null {
  const holder = ['team', 'subject'].find((name) => nestedString(sent, ['spec', name]) !== '')
  if (holder !== undefined) return { field: `spec.${holder}`, because: OTHER_HOLDER }
  if (!['', user].includes(nestedString(sent, ['spec', 'user'])))
    return { field: 'spec.user', because: OTHER_HOLDER }
  if (!OWN_TYPES.includes(nestedString(sent, ['spec', 'type'])))
    return { field: 'spec.type', because: OTHER_TYPE }
  return isDigest(nestedString(sent, KEY)) ? { field: 'spec.key', because: OWN_DIGEST } : null
}

const OTHER_HOLDER =
  'you create keys of your own user only: leave it out, or get the right to create ownedaccesskeys'
const OTHER_TYPE =
  'you create keys of type User and Other only: leave it out, or get the right to create ownedaccesskeys'
const OWN_DIGEST =
  'you create keys without a digest only: leave it out to get a generated key, or get the right to create ownedaccesskeys'

/** The refusal of a digest that a change brings into an own key, where RBAC does not open the change. */
export const DIGEST_CHANGED: FieldRefusal = {
  field: 'spec.key',
  because:
    'you cannot store a digest in your own keys: leave it as it is, or get the right to change ownedaccesskeys',
}

/** How RBAC words the refusal of a write. Admission policies word theirs differently, and those messages stay. */
const REFUSED_BY_RBAC = / cannot (create|patch|update) resource "ownedaccesskeys"/u

/** Whether the API server refused a write because the caller lacks the right. */
export const isWithoutRight = ({ status, json }: UpstreamReply): boolean =>
  status === 403 && REFUSED_BY_RBAC.test(nestedString(json, ['message']))
