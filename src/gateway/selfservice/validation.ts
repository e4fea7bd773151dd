// Validating admission of self-service (contract 12.1, 12.3), on the object as it would be stored: the rules for
// writes that need no right on our kinds.
import { ACCESS_KEYS, API_VERSION, REVOKE_FINALIZER, type Resource } from '../../api/names.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import type { KeyRef } from '../../domain/credential-object.ts'
import { nestedField, nestedString, nestedStringSlice } from '../../domain/json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isList,
  isMap,
  quoteForMessage,
  sameJson,
} from '../../domain/json/json.ts'
import { firstUncoveredEntry } from '../../domain/scope/covers.ts'
import { KEY, isDigest } from '../redaction/fields.ts'
import { NO_DIGEST, endsWithin, givesLess } from './escalation.ts'
import type { CallerAccess } from './request.ts'
import { changedClosedField } from './spec-fields.ts'
import { scopeIn } from './visibility.ts'
import { type FieldRefusal, RESERVED_MANAGERS, entriesOf, marksFault } from './write-options.ts'

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

/** The first field that must not be stored so; null = the write is valid. */
export function validate(write: Write): FieldRefusal | null {
  const checks =
    write.resource === ACCESS_KEYS ? [...FOR_KEYS, ...FOR_BOTH] : [...FOR_BOTH, ...FOR_TOKENS]
  for (const check of checks) {
    const fault = check(write)
    if (fault !== null) return fault
  }
  return null
}

const FOR_BOTH: readonly Check[] = [ownersAreOurs, finalizersAreOurs, marksAreOurs, managersAreOurs]

const FOR_KEYS: readonly Check[] = [
  userIsCaller,
  digestStoodThere,
  closedFieldsKept,
  groupsAreCallers,
  typeIsForPeople,
  scopeIsWithin,
  endsWithCaller,
  onlyLess,
]

const FOR_TOKENS: readonly Check[] = [closedFieldsKept, scopeIsWithin]

function userIsCaller({ access, after }: Write): FieldRefusal | null {
  if (access.user !== null && nestedString(after, ['spec', 'user']) === access.user) return null
  return { field: 'spec.user', because: 'your own keys are of your own user: leave it as it is' }
}

/** A digest that a reader of a repository finds proves no knowledge of the key. */
function digestStoodThere({ before, after }: Write): FieldRefusal | null {
  const digest = nestedString(after, KEY)
  if (!isDigest(digest) || digest === nestedString(before ?? {}, KEY)) return null
  return { field: 'spec.key', because: NO_DIGEST }
}

/** A field is open only by the allow-list of escalation.ts. */
function closedFieldsKept({ resource, before, after }: Write): FieldRefusal | null {
  const changed = changedClosedField(resource, before, after)
  if (changed === undefined) return null
  const kind = resource === ACCESS_KEYS ? 'keys' : 'tokens'
  return {
    field: `spec.${changed}`,
    because: `it can not be set on your own ${kind}: leave it as it is`,
  }
}

function groupsAreCallers({ access, before, after }: Write): FieldRefusal | null {
  const allowed = new Set([
    ...access.groups,
    ...nestedStringSlice(before ?? {}, ['spec', 'groups']),
  ])
  const other = nestedStringSlice(after, ['spec', 'groups']).find((group) => !allowed.has(group))
  if (other === undefined) return null
  return {
    field: 'spec.groups',
    because: `the calling access key is not in group ${quoteForMessage(other)}`,
  }
}

function typeIsForPeople({ access, before, after }: Write): FieldRefusal | null {
  if (before !== null) return null
  const allowed = access.isPerson ? ['', 'User', 'Other'] : ['User']
  if (allowed.includes(nestedString(after, ['spec', 'type']))) return null
  return { field: 'spec.type', because: 'a key made with this access key has type User' }
}

/** A scoped key creates nothing that grants more than it does. `onlyLess` checks updates. */
function scopeIsWithin({ access, before, after, resource }: Write): FieldRefusal | null {
  if (before !== null || access.scope === null) return null
  const scope = scopeIn(after)
  if (scope === null) {
    // A token without a scope has that of its owner.
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

function onlyLess({ access, before, after, caps, nowMs }: Write): FieldRefusal | null {
  return before === null || access.isPerson ? null : givesLess(before, after, caps, nowMs)
}

/** The owner references of a new object. Unless the caller acts in person, it is deleted with the calling key. */
export function ownersOf(resource: Resource, { isPerson, key }: CallerAccess): readonly Json[] {
  return resource === ACCESS_KEYS && isPerson ? [] : [referenceTo(key)]
}

const referenceTo = ({ name, uid }: KeyRef): JsonMap => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  name,
  uid,
  controller: true,
})

function ownersAreOurs({ resource, access, before, after }: Write): FieldRefusal | null {
  const path = ['metadata', 'ownerReferences']
  const wanted = before === null ? ownersOf(resource, access) : nestedField(before, path)
  const owners = nestedField(after, path)
  if (sameJson(listed(owners), listed(wanted))) return null
  const because =
    before === null && ownersOf(resource, access).length > 0
      ? 'it is owned by the calling access key: leave them out'
      : 'they can not be changed on your own: leave them as they are'
  return { field: 'metadata.ownerReferences', because }
}

const listed = (value: Json | undefined): readonly Json[] => (isList(value) ? value : [])

function finalizersAreOurs({ resource, before, after }: Write): FieldRefusal | null {
  const path = ['metadata', 'finalizers']
  const made = resource === ACCESS_KEYS ? [REVOKE_FINALIZER] : []
  const wanted = before === null ? made : nestedStringSlice(before, path)
  const isSame = sameJson(nestedStringSlice(after, path).toSorted(), wanted.toSorted())
  if (isSame) return null
  return {
    field: 'metadata.finalizers',
    because: 'they can not be changed on your own: leave them as they are',
  }
}

function marksAreOurs({ resource, access, before, after }: Write): FieldRefusal | null {
  return marksFault(resource, access.key, before, after)
}

/**
 * A write as one of the platform's field managers would let a later apply of the platform remove fields that it
 * never wrote. Their ownership may shrink: it does when another manager changes such a field.
 */
function managersAreOurs({ before, after }: Write): FieldRefusal | null {
  const old = ownedIn(before ?? {})
  const isLess = (entry: Json): boolean => old.some((was) => isPartOf(was, entry))
  if (ownedIn(after).every(isLess)) return null
  const because = `${RESERVED_MANAGERS.join(' and ')} are managers of the platform`
  return { field: 'metadata.managedFields', because }
}

/** The fields that each of them owns, and how it wrote them. */
const ownedIn = (object: JsonMap): readonly Json[] =>
  entriesOf(object, RESERVED_MANAGERS).map((entry) => ({
    by: ['manager', 'operation', 'subresource', 'apiVersion'].map((name) =>
      nestedString(entry, [name]),
    ),
    fields: nestedField(entry, ['fieldsV1']) ?? {},
  }))

/** Whether a value equals another but for missing map entries. */
function isPartOf(whole: Json | undefined, part: Json): boolean {
  if (!isMap(part)) return sameJson(whole ?? null, part)
  return (
    Object.entries(part).every(([name, inner]) => isPartOf(nestedField(whole, [name]), inner)) &&
    isMap(whole)
  )
}
