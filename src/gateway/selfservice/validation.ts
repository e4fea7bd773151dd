// Whether self-service may store an object as it would be stored (contract 12.1, 12.3). What is refused
// here may still be had elsewhere: this is what needs no right on our kinds.
import { ACCESS_KEYS, API_VERSION, REVOKE_FINALIZER, type Resource } from '../../api/names.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import type { KeyRef } from '../../domain/credential-object.ts'
import {
  type NamePath,
  nestedField,
  nestedString,
  nestedStringSlice,
} from '../../domain/json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isList,
  isMap,
  quoteForMessage,
  sameJson,
} from '../../domain/json/json.ts'
import { firstUncoveredEntry } from '../../domain/scope/covers.ts'
import { KEY } from '../redaction/fields.ts'
import { NO_DIGEST, endsWithin, givesLess, isDigest } from './escalation.ts'
import { type CallerAccess, scopeIn } from './visibility.ts'
import { RESERVED_MANAGERS, entriesOf, marksFault } from './write-options.ts'

/** A write as it is judged. */
export interface Storing {
  readonly resource: Resource
  readonly standing: CallerAccess
  /** The object as it is; null = it would be made. */
  readonly before: JsonMap | null
  readonly after: JsonMap
  readonly caps: Caps
  readonly nowMs: number
}

/** What must not be stored: the field, and what is wrong with it. */
export interface Fault {
  readonly field: string
  readonly because: string
}

type Check = (storing: Storing) => Fault | null

/** Why the object must not be stored; null = it may. The first fault counts. */
export function validate(storing: Storing): Fault | null {
  const checks =
    storing.resource === ACCESS_KEYS ? [...FOR_KEYS, ...FOR_BOTH] : [...FOR_BOTH, ...FOR_TOKENS]
  for (const check of checks) {
    const fault = check(storing)
    if (fault !== null) return fault
  }
  return null
}

const FOR_BOTH: readonly Check[] = [ownersAreOurs, finalizersAreOurs, marksAreOurs, managersAreOurs]

const FOR_KEYS: readonly Check[] = [
  userIsCaller,
  digestStoodThere,
  nothingOfSignOn,
  groupsAreCallers,
  typeIsForPeople,
  scopeIsWithin,
  endsWithCaller,
  onlyLess,
]

const FOR_TOKENS: readonly Check[] = [scopeIsWithin]

function userIsCaller({ standing, after }: Storing): Fault | null {
  if (standing.user !== null && nestedString(after, ['spec', 'user']) === standing.user) return null
  return { field: 'spec.user', because: 'your own keys are of your own user: leave it as it is' }
}

/** Who reads a digest in Git knows nothing of its key, and would be the first to hold it. */
function digestStoodThere({ before, after }: Storing): Fault | null {
  const digest = nestedString(after, KEY)
  if (!isDigest(digest) || digest === nestedString(before ?? {}, KEY)) return null
  return { field: 'spec.key', because: NO_DIGEST }
}

/** Written by the platform, or by who has rights on access keys. */
const NOT_FOR_PEOPLE = [
  'team',
  'subject',
  'identity',
  'identityRefresh',
  'oidcProvider',
  'oidcLogin',
  'parent',
]

function nothingOfSignOn({ before, after }: Storing): Fault | null {
  const changed = NOT_FOR_PEOPLE.find((name) => !isUnchanged(before, after, ['spec', name]))
  if (changed === undefined) return null
  return {
    field: `spec.${changed}`,
    because: 'it can not be set on your own keys: leave it as it is',
  }
}

/** An empty text and false equal absent (contract 1.2). */
function isUnchanged(before: JsonMap | null, after: JsonMap, path: NamePath): boolean {
  return sameJson(nestedField(before ?? {}, path) || null, nestedField(after, path) || null)
}

function groupsAreCallers({ standing, before, after }: Storing): Fault | null {
  const allowed = new Set([
    ...standing.groups,
    ...nestedStringSlice(before ?? {}, ['spec', 'groups']),
  ])
  const other = nestedStringSlice(after, ['spec', 'groups']).find((group) => !allowed.has(group))
  if (other === undefined) return null
  return {
    field: 'spec.groups',
    because: `the calling access key is not in group ${quoteForMessage(other)}`,
  }
}

function typeIsForPeople({ standing, before, after }: Storing): Fault | null {
  if (before !== null) return null
  const allowed = standing.isPerson ? ['', 'User', 'Other'] : ['User']
  if (allowed.includes(nestedString(after, ['spec', 'type']))) return null
  return { field: 'spec.type', because: 'a key made with this access key has type User' }
}

/** What a scoped key makes must not grant more than it; what it leaves, another check tells. */
function scopeIsWithin({ standing, before, after, resource }: Storing): Fault | null {
  if (before !== null || standing.scope === null) return null
  const scope = scopeIn(after)
  if (scope === null) {
    // A token without a scope has that of its owner.
    if (resource !== ACCESS_KEYS) return null
    return { field: 'spec.scope', because: 'it must be within the scope of the calling access key' }
  }
  const uncovered = firstUncoveredEntry(scope, standing.scope)
  if (uncovered === null) return null
  return {
    field: `spec.${uncovered.path}`,
    because: `it grants more than the scope of the calling access key: ${uncovered.because}`,
  }
}

function endsWithCaller({ standing, before, after, caps, nowMs }: Storing): Fault | null {
  return before === null && !standing.isPerson
    ? endsWithin(after, standing.expiresMs, caps, nowMs)
    : null
}

function onlyLess({ standing, before, after, caps, nowMs }: Storing): Fault | null {
  return before === null || standing.isPerson ? null : givesLess(before, after, caps, nowMs)
}

/** The owner references of what a caller makes: what he does not make in person goes with his key. */
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

function ownersAreOurs({ resource, standing, before, after }: Storing): Fault | null {
  const path = ['metadata', 'ownerReferences']
  const wanted = before === null ? ownersOf(resource, standing) : nestedField(before, path)
  const owners = nestedField(after, path)
  if (sameJson(listed(owners), listed(wanted))) return null
  const because =
    before === null && ownersOf(resource, standing).length > 0
      ? 'it is owned by the calling access key: leave them out'
      : 'they can not be changed on your own: leave them as they are'
  return { field: 'metadata.ownerReferences', because }
}

const listed = (value: Json | undefined): readonly Json[] => (isList(value) ? value : [])

function finalizersAreOurs({ resource, before, after }: Storing): Fault | null {
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

function marksAreOurs({ resource, standing, before, after }: Storing): Fault | null {
  return marksFault(resource, standing.key, before, after)
}

/**
 * Whoever wrote as one of the program's own managers could have it take away later what it never wrote.
 * What it owns becomes less by itself, when somebody changes such a field.
 */
function managersAreOurs({ before, after }: Storing): Fault | null {
  const old = ownedIn(before ?? {})
  const isLess = (entry: Json): boolean => old.some((was) => isPartOf(was, entry))
  if (ownedIn(after).every(isLess)) return null
  const because = `${RESERVED_MANAGERS.join(' and ')} are managers of the platform`
  return { field: 'metadata.managedFields', because }
}

/** What each of them owns, and how it wrote it. */
const ownedIn = (object: JsonMap): readonly Json[] =>
  entriesOf(object, RESERVED_MANAGERS).map((entry) => ({
    by: ['manager', 'operation', 'subresource', 'apiVersion'].map((name) =>
      nestedString(entry, [name]),
    ),
    fields: nestedField(entry, ['fieldsV1']) ?? {},
  }))

/** Maps may have fewer entries; everything else is the same. */
function isPartOf(whole: Json | undefined, part: Json): boolean {
  if (!isMap(part)) return sameJson(whole ?? null, part)
  return (
    Object.entries(part).every(([name, inner]) => isPartOf(nestedField(whole, [name]), inner)) &&
    isMap(whole)
  )
}
