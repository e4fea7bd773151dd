// Validating admission of self-service (contract 12.1, 12.3): checks the object as it would be stored, for writes that
// need no rights on our kinds.
import { ACCESS_KEYS, RESERVED_MANAGERS, REVOKE_FINALIZER, type Resource } from '../../api/names.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { nestedField, nestedString, nestedStringSlice } from '../../domain/json/field-path.ts'
import {
  isList,
  isMap,
  type Json,
  type JsonMap,
  quoteForMessage,
  sameJson,
} from '../../domain/json/json.ts'
import { isDigest, KEY } from '../../domain/redaction/fields.ts'
import { firstUncoveredEntry } from '../../domain/scope/covers.ts'
import { ownerReferenceTo } from '../../issuance/new-object.ts'
import { endsWithin, NO_DIGEST, rightsIncreaseRefusal } from './escalation.ts'
import type { CallerAccess } from './request.ts'
import { changedClosedField } from './spec-fields.ts'
import { scopeIn } from './visibility.ts'
import { entriesOf, type FieldRefusal, platformMetadataFault } from './write-options.ts'

/** A write to validate. */
interface Write {
  readonly resource: Resource
  readonly access: CallerAccess
  /** The stored object; null = the write creates it. */
  readonly before: JsonMap | null
  readonly after: JsonMap
  readonly caps: Caps
  readonly nowMs: number
}

type Check = (write: Write) => FieldRefusal | null

/** The first field whose value must not be stored; null = the write is valid. */
export function validate(write: Write): FieldRefusal | null {
  const checks =
    write.resource === ACCESS_KEYS
      ? [...KEY_CHECKS, ...COMMON_CHECKS]
      : [...COMMON_CHECKS, ...TOKEN_CHECKS]
  for (const check of checks) {
    const fault = check(write)
    if (fault !== null) return fault
  }
  return null
}

const COMMON_CHECKS: readonly Check[] = [
  ownersUnchanged,
  finalizersUnchanged,
  platformMetadataUnchanged,
  reservedManagersUnchanged,
]

const KEY_CHECKS: readonly Check[] = [
  userIsCaller,
  digestUnchanged,
  closedFieldsUnchanged,
  groupsAreCallers,
  typeIsForPeople,
  scopeIsWithin,
  endsWithCaller,
  updateReducesRights,
]

const TOKEN_CHECKS: readonly Check[] = [closedFieldsUnchanged, scopeIsWithin]

function userIsCaller({ access, after }: Write): FieldRefusal | null {
  if (access.user !== null && nestedString(after, ['spec', 'user']) === access.user) return null
  return { field: 'spec.user', because: 'your own keys are of your own user: leave it as it is' }
}

/** A digest proves no knowledge of the key: any reader of a repository may find one. */
function digestUnchanged({ before, after }: Write): FieldRefusal | null {
  const digest = nestedString(after, KEY)
  if (!isDigest(digest) || digest === nestedString(before ?? {}, KEY)) return null
  return { field: 'spec.key', because: NO_DIGEST }
}

/** The allow-list is in spec-fields.ts. */
function closedFieldsUnchanged({ resource, before, after }: Write): FieldRefusal | null {
  const changed = changedClosedField(resource, before, after)
  if (changed === undefined) return null
  const kind = resource === ACCESS_KEYS ? 'keys' : 'tokens'
  return {
    field: `spec.${changed}`,
    because: `it cannot be set on your own ${kind}: leave it as it is`,
  }
}

function groupsAreCallers({ access, before, after }: Write): FieldRefusal | null {
  const allowed = new Set([
    ...access.groups,
    ...nestedStringSlice(before ?? {}, ['spec', 'groups']),
  ])
  const notAllowed = nestedStringSlice(after, ['spec', 'groups']).find(
    (group) => !allowed.has(group),
  )
  if (notAllowed === undefined) return null
  return {
    field: 'spec.groups',
    because: `the calling access key is not in group ${quoteForMessage(notAllowed)}`,
  }
}

function typeIsForPeople({ access, before, after }: Write): FieldRefusal | null {
  if (before !== null) return null
  const allowed = access.isPerson ? ['', 'User', 'Other'] : ['User']
  if (allowed.includes(nestedString(after, ['spec', 'type']))) return null
  return { field: 'spec.type', because: 'a key made with this access key has type User' }
}

/** A scoped key creates nothing that grants more than the key itself. `updateReducesRights` checks updates. */
function scopeIsWithin({ access, before, after, resource }: Write): FieldRefusal | null {
  if (before !== null || access.scope === null) return null
  const scope = scopeIn(after)
  if (scope === null) {
    // A token without a scope inherits the scope of its owner.
    if (resource !== ACCESS_KEYS) return null
    return { field: 'spec.scope', because: 'it must be within the scope of the calling access key' }
  }
  const uncovered = firstUncoveredEntry(scope, access.scope)
  if (uncovered === null) return null
  return {
    field: `spec.${uncovered.path}`,
    because: `it grants more than the scope of the calling access key: ${uncovered.because}`,
  }
}

function endsWithCaller({ access, before, after, caps, nowMs }: Write): FieldRefusal | null {
  return before === null && !access.isPerson
    ? endsWithin(after, access.expiresMs, caps, nowMs)
    : null
}

function updateReducesRights({ access, before, after, caps, nowMs }: Write): FieldRefusal | null {
  return before === null || access.isPerson
    ? null
    : rightsIncreaseRefusal(before, after, caps, nowMs)
}

/** The owner reference of a new object: it is deleted with the calling key. A key that a person creates has none. */
function ownersOf(resource: Resource, { isPerson, key }: CallerAccess): readonly Json[] {
  return resource === ACCESS_KEYS && isPerson ? [] : [ownerReferenceTo(key)]
}

function ownersUnchanged({ resource, access, before, after }: Write): FieldRefusal | null {
  const path = ['metadata', 'ownerReferences']
  const expected = before === null ? ownersOf(resource, access) : nestedField(before, path)
  const owners = nestedField(after, path)
  if (sameJson(asList(owners), asList(expected))) return null
  const because =
    before === null && ownersOf(resource, access).length > 0
      ? 'it is owned by the calling access key: leave them out'
      : 'they cannot be changed on your own: leave them as they are'
  return { field: 'metadata.ownerReferences', because }
}

const asList = (value: Json | undefined): readonly Json[] => (isList(value) ? value : [])

function finalizersUnchanged({ resource, before, after }: Write): FieldRefusal | null {
  const path = ['metadata', 'finalizers']
  const ownFinalizers = resource === ACCESS_KEYS ? [REVOKE_FINALIZER] : []
  const expected = before === null ? ownFinalizers : nestedStringSlice(before, path)
  const isSame = sameJson(nestedStringSlice(after, path).toSorted(), expected.toSorted())
  if (isSame) return null
  return {
    field: 'metadata.finalizers',
    because: 'they cannot be changed on your own: leave them as they are',
  }
}

function platformMetadataUnchanged({
  resource,
  access,
  before,
  after,
}: Write): FieldRefusal | null {
  return platformMetadataFault(resource, access.key, before, after)
}

/**
 * A client that writes as one of the platform's field managers could let the platform's next apply remove fields that
 * the platform never wrote. The fields that such a manager owns may become fewer: this happens when another manager
 * changes one of them.
 */
function reservedManagersUnchanged({ before, after }: Write): FieldRefusal | null {
  const previousEntries = reservedEntriesOf(before ?? {})
  const isUnchangedOrLess = (entry: Json): boolean =>
    previousEntries.some((previous) => isPartOf(previous, entry))
  if (reservedEntriesOf(after).every(isUnchangedOrLess)) return null
  const because = `${RESERVED_MANAGERS.join(' and ')} are managers of the platform`
  return { field: 'metadata.managedFields', because }
}

/** The managedFields entries of the platform's field managers, without their times. */
const reservedEntriesOf = (object: JsonMap): readonly Json[] =>
  entriesOf(object, RESERVED_MANAGERS).map((entry) => ({
    by: ['manager', 'operation', 'subresource', 'apiVersion'].map((name) =>
      nestedString(entry, [name]),
    ),
    fields: nestedField(entry, ['fieldsV1']) ?? {},
  }))

/** Whether `part` equals `whole`, except for missing map entries. */
function isPartOf(whole: Json | undefined, part: Json): boolean {
  if (!isMap(part)) return sameJson(whole ?? null, part)
  return (
    Object.entries(part).every(([name, inner]) => isPartOf(nestedField(whole, [name]), inner)) &&
    isMap(whole)
  )
}
