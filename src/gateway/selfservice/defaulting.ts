// Mutating admission: the fields that the gateway adds to an object that a client creates (contract 12.2, 12.3).
import {
  ACCESS_KEYS,
  API_VERSION,
  CREATED_ANNOTATION,
  REVOKE_FINALIZER,
  type Resource,
  TOKENS,
} from '../../api/names.ts'
import {
  type NamePath,
  nestedField,
  nestedString,
  nestedStringSlice,
  setNestedField,
} from '../../domain/json/field-path.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { KEY } from '../../domain/redaction/fields.ts'
import { longestTtl } from './escalation.ts'
import { notOwn } from './other-keys.ts'
import type { CallerAccess } from './request.ts'
import { ownersOf } from './validation.ts'
import { labelsOfMade } from './write-options.ts'

/** An object to be created. */
export interface DefaultedObject {
  readonly object: JsonMap
  /** The fields that the gateway added, and whose field manager it is. */
  readonly added: JsonMap
}

/**
 * Whether self-service creates the object as the caller's own. Any other create goes to the API server as the caller,
 * where RBAC and the policies decide (contract 12.1, 12.3).
 */
export const isForSelf = (resource: Resource, sent: JsonMap, access: CallerAccess): boolean =>
  resource === TOKENS ||
  (resource === ACCESS_KEYS && access.user !== null && notOwn(sent, access.user) === null)

/** The object for the dry run. `finished` adds the fields that depend on the answer to the dry run. */
export function defaulted(
  resource: Resource,
  sent: JsonMap,
  access: CallerAccess,
  newKey: () => string,
): DefaultedObject {
  const envelope = withMissing(sent, [
    [['apiVersion'], API_VERSION],
    [['kind'], resource.kind],
    [['spec'], {}],
    ...(isNamed(sent)
      ? []
      : [[['metadata', 'generateName'], PREFIXES[resource.plural] ?? ''] as const]),
  ])
  const withoutStatus = setNestedField(envelope, ['status'], undefined)
  const additions = [
    ...(resource === ACCESS_KEYS ? keyDefaults(sent, access, newKey) : []),
    ...(isForSelf(resource, sent, access) ? ownObjectDefaults(resource, access) : []),
  ].filter(([path]) => isEmpty(nestedField(sent, path)))
  const start: DefaultedObject = { object: withoutStatus, added: {} }
  return withFinalizer(resource, additions.reduce(withAdded, start))
}

type Addition = readonly [path: NamePath, value: Json]

/** The generateName of an object without a name, by plural. */
const PREFIXES: Readonly<Record<string, string>> = {
  [ACCESS_KEYS.plural]: 'key-',
  [TOKENS.plural]: 'token-',
}

const isNamed = (sent: JsonMap): boolean =>
  ['name', 'generateName'].some((name) => nestedString(sent, ['metadata', name]) !== '')

/** An empty text or list equals absent (contract 1.2), and the API server drops nulls. */
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

/** The defaults of a key: the caller's user if the client names no identity, and a generated key. */
function keyDefaults(
  sent: JsonMap,
  { user }: CallerAccess,
  newKey: () => string,
): readonly Addition[] {
  const namesNoOther = ['team', 'subject'].every((name) =>
    isEmpty(nestedField(sent, ['spec', name])),
  )
  const named: readonly Addition[] = user !== null && namesNoOther ? [[['spec', 'user'], user]] : []
  return [...named, [KEY, newKey()]]
}

/** The defaults of an own object: the calling key owns it, except for a key that a person creates (contract 12.3). */
function ownObjectDefaults(resource: Resource, access: CallerAccess): readonly Addition[] {
  const { scope, isPerson } = access
  const owners = ownersOf(resource, access)
  const labels = Object.entries(labelsOfMade(resource, access.key))
  const owned: readonly Addition[] = [
    ...labels.map(([name, value]): Addition => [['metadata', 'labels', name], value]),
    ...(owners.length === 0 ? [] : [[['metadata', 'ownerReferences'], owners] as const]),
  ]
  if (resource !== ACCESS_KEYS || isPerson) return owned
  const scoped: readonly Addition[] =
    scope === null ? [] : [[['spec', 'scope'], scope as unknown as Json]]
  return [[['spec', 'type'], 'User'], ...scoped, ...owned]
}

const withAdded = (
  { object, added }: DefaultedObject,
  [path, value]: Addition,
): DefaultedObject => ({
  object: setNestedField(object, path, value),
  added: setNestedField(added, path, value),
})

function withFinalizer(resource: Resource, { object, added }: DefaultedObject): DefaultedObject {
  if (resource !== ACCESS_KEYS) return { object, added }
  const path = ['metadata', 'finalizers']
  const all = new Set([...nestedStringSlice(object, path), REVOKE_FINALIZER])
  return {
    object: setNestedField(object, path, [...all]),
    added: setNestedField(added, path, [REVOKE_FINALIZER]),
  }
}

/**
 * The object to store. The creationTimestamp of the dry run becomes the start of a key's lifetime (contract 2.8). A key
 * without a ttl gets the rest of the calling key's lifetime, unless a person calls.
 *
 * @param dryRun the answer to the dry run
 */
export function finished(
  resource: Resource,
  { object, added }: DefaultedObject,
  dryRun: JsonMap,
  access: CallerAccess,
): DefaultedObject {
  if (resource !== ACCESS_KEYS) return { object, added }
  const createdAt = nestedString(dryRun, ['metadata', 'creationTimestamp'])
  const created: Addition = [['metadata', 'annotations', CREATED_ANNOTATION], createdAt]
  const { expiresMs, isPerson } = access
  const isBound = isForSelf(resource, object, access) && !isPerson && expiresMs !== null
  const ttl: Addition = [['spec', 'ttl'], longestTtl(dryRun, expiresMs ?? 0)]
  const additions = [created, ...(isBound && !nestedField(object, ['spec', 'ttl']) ? [ttl] : [])]
  return additions
    .filter(([path]) => !nestedField(object, path))
    .reduce(withAdded, { object, added })
}

/** Adds each of these values where the object has none. */
const withMissing = (object: JsonMap, values: readonly Addition[]): JsonMap =>
  values.reduce(
    (whole, [path, value]) =>
      nestedField(whole, path) === undefined ? setNestedField(whole, path, value) : whole,
    object,
  )
