// Metadata of host objects: marks, names, owners, and the labels and annotations that cross (contract 16.3, 17.2 to 17.4).
import type { OwnerReference } from '../../api/objects.ts'
import {
  type FieldPath,
  nestedField,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import { isList, isMap, type Json, type JsonMap, mapFromEntries } from '../../domain/json/json.ts'
import { type HostPlace, hostNameOf, type VirtualName } from './host-name.ts'
import {
  CROSSING_RULES,
  CURRENT_RULES,
  MANAGED_KEYS,
  MARK_ANNOTATIONS,
  MARK_KEYS,
  MARK_LABELS,
  MARK_PREFIX,
  type MetadataField,
  PATCHED_KEYS,
  SKIP_SYNC,
} from './mark-keys.ts'
import { hostKeyOf } from './selectors.ts'

/** Whether the host object was written by the rules of this syncer, so that no key of others has crossed to it. */
const hasCurrentRules = (metadata: JsonMap): boolean =>
  nestedString(metadata, ['annotations', CROSSING_RULES]) === CURRENT_RULES

/** The virtual object that a host object is of. */
interface VirtualOwner extends VirtualName {
  /** Empty where the host object does not have the annotation: 17.2 does not ask for it. */
  readonly uid: string
}

/** The kind as marks name it: `/v1, Kind=Endpoints`. All synced kinds are of the core group. */
export const markedKind = (kind: string): string => `/v1, Kind=${kind}`

/** The marks of the host object of this virtual object, in both modes (contract 17.2, 17.5). */
export function marksOf(
  virtual: JsonMap,
  kind: string,
  place: HostPlace,
): Readonly<Record<MetadataField, JsonMap>> {
  const metadata = nestedMap(virtual, ['metadata'])
  const [name, namespace] = [
    nestedString(metadata, ['name']),
    nestedString(metadata, ['namespace']),
  ]
  const host = hostNameOf({ name, namespace }, place)
  return {
    labels: {
      [MARK_LABELS.managedBy]: place.virtualCluster,
      [MARK_LABELS.namespace]: namespace,
    },
    annotations: mapFromEntries([
      [MARK_ANNOTATIONS.name, name],
      [MARK_ANNOTATIONS.namespace, namespace],
      [MARK_ANNOTATIONS.uid, nestedString(metadata, ['uid'])],
      [MARK_ANNOTATIONS.kind, markedKind(kind)],
      [MARK_ANNOTATIONS.hostName, host.name],
      [MARK_ANNOTATIONS.hostNamespace, host.namespace],
      [CROSSING_RULES, CURRENT_RULES],
      [MANAGED_KEYS.labels, joinedKeys([...stringsIn(metadata, 'labels').keys()])],
      [MANAGED_KEYS.annotations, joinedKeys([...stringsIn(metadata, 'annotations').keys()])],
    ]),
  }
}

/** The annotations that keep which labels and annotations patches have added to the host object. */
export const patchedMarks = (keys: Readonly<Record<MetadataField, readonly string[]>>): JsonMap =>
  mapFromEntries([
    [PATCHED_KEYS.labels, joinedKeys(keys.labels)],
    [PATCHED_KEYS.annotations, joinedKeys(keys.annotations)],
  ])

/** Sorted, so that the order of keys changes no mark; undefined without any. */
const joinedKeys = (keys: readonly string[]): string | undefined =>
  keys.length === 0 ? undefined : keys.toSorted().join('\n')

/** The virtual object's keys as the marks of this host metadata have them; none without the mark. */
export const managedKeys = (metadata: JsonMap, field: MetadataField): readonly string[] =>
  keysIn(metadata, MANAGED_KEYS[field])

/** The keys that patches have added, as the marks of this host metadata have them; none without the mark. */
export const patchedKeys = (metadata: JsonMap, field: MetadataField): readonly string[] =>
  keysIn(metadata, PATCHED_KEYS[field])

function keysIn(metadata: JsonMap, mark: string): readonly string[] {
  const joined = nestedString(metadata, ['annotations', mark])
  return joined === '' ? [] : joined.split('\n')
}

/**
 * The virtual object that this host object is of; null = the object is not this virtual cluster's. A copied annotation
 * proves nothing: the marks must name the object that they stand on, under the name that it must have (contract 17.2).
 */
export function ownerOf(host: JsonMap, kind: string, place: HostPlace): VirtualOwner | null {
  const metadata = nestedMap(host, ['metadata'])
  const mark = (key: keyof typeof MARK_ANNOTATIONS): string =>
    nestedString(metadata, ['annotations', MARK_ANNOTATIONS[key]])
  const owner = { name: mark('name'), namespace: mark('namespace'), uid: mark('uid') }
  if (owner.name === '' || owner.namespace === '') return null

  const expected = hostNameOf(owner, place)
  const isNamed = ({ name, namespace }: VirtualName): boolean =>
    name === expected.name && namespace === expected.namespace
  const itself = {
    name: nestedString(metadata, ['name']),
    namespace: nestedString(metadata, ['namespace']),
  }
  const marked = { name: mark('hostName'), namespace: mark('hostNamespace') }
  if (mark('kind') !== markedKind(kind) || !isNamed(itself) || !isNamed(marked)) return null

  const managedBy = nestedField(metadata, ['labels', MARK_LABELS.managedBy])
  return managedBy === undefined || managedBy === place.virtualCluster ? owner : null
}

/** Whether a label or an annotation says that the syncer leaves the object alone (contract 16.3). */
export const isSkipped = (object: JsonMap): boolean =>
  ['labels', 'annotations'].some(
    (field) => nestedString(object, ['metadata', field, SKIP_SYNC]) === 'true',
  )

/** The labels or annotations of metadata. Values that are not strings are left out: the API server accepts none. */
export function stringsIn(metadata: JsonMap, field: MetadataField): ReadonlyMap<string, string> {
  const found = nestedField(metadata, [field])
  const entries = isMap(found) ? Object.entries(found) : []
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** The `metadata` of both objects at the syncer's last write of either; only labels and annotations are read. */
export interface WrittenMetadata {
  readonly virtual: JsonMap
  readonly host: JsonMap
}

/** An object on both sides, and the syncer's last write. */
export interface MetadataExchange {
  readonly kind: string
  readonly place: HostPlace
  /** The whole object. */
  readonly virtual: JsonMap
  /** The whole object, one of this virtual cluster's; null = it does not exist. */
  readonly host: JsonMap | null
  /** null = this process has not written the object: the virtual side wins. */
  readonly written: WrittenMetadata | null
  /** The virtual cluster's own Service; null = host objects have no owner. Not used in multi-namespace mode. */
  readonly owner: OwnerReference | null
  /**
   * Whether a patch touches the field, or a map that holds it: then it flows back only by its own reverse. The path is
   * the path in the host object, such as `['metadata', 'labels', 'app']`.
   */
  readonly isPatched: (path: FieldPath) => boolean
  /** Whether a patch writes the whole map back, from the host's values to the virtual object's values. */
  readonly isTakenWhole: (field: MetadataField) => boolean
}

/**
 * The whole metadata of the host object before patches. An existing object keeps what only the host has: its own
 * fields, owners, labels and annotations (contract 17.3, 17.4).
 */
export function hostMetadata(exchange: MetadataExchange): JsonMap {
  const { virtual, kind, place } = exchange
  const metadata = hostMetadataOf(exchange)
  const name = nestedString(virtual, ['metadata', 'name'])
  const namespace = nestedString(virtual, ['metadata', 'namespace'])
  const marks = marksOf(virtual, kind, place)
  const owners = ownerReferences(metadata, exchange)
  const whole: JsonMap = {
    ...metadata,
    ...hostNameOf({ name, namespace }, place),
    labels: { ...hostStrings('labels', exchange), ...marks.labels },
    annotations: { ...hostStrings('annotations', exchange), ...marks.annotations },
  }
  return setNestedField(whole, ['ownerReferences'], owners.length === 0 ? undefined : owners)
}

/** The labels or annotations of the host object without marks. */
function hostStrings(field: MetadataField, exchange: MetadataExchange): JsonMap {
  const metadata = hostMetadataOf(exchange)
  // A key that is here and not in the virtual object was removed there.
  const fromVirtual = new Set(
    managedKeys(metadata, field).flatMap((key) => [
      hostKeyOf(field, key, exchange.kind, exchange.place),
      ...(crossedByOldRules(key, metadata) ? [key] : []),
    ]),
  )
  const hostOnly = [...stringsIn(metadata, field)].filter(
    ([key]) => !fromVirtual.has(key) && !MARK_KEYS[field].has(key),
  )
  const crossed = crossings(field, exchange).map(
    (entry) => [entry.hostKey, entry.flowsBack ?? entry.value] as const,
  )
  return mapFromEntries([...hostOnly, ...crossed])
}

/** Whether a key of the virtual object can stand on the host only because an older syncer let it cross. */
const crossedByOldRules = (key: string, onHost: JsonMap): boolean =>
  !hasCurrentRules(onHost) && !key.startsWith(MARK_PREFIX)

/** A label or annotation of the virtual object that the host object gets. */
interface CrossingEntry {
  readonly key: string
  readonly hostKey: string
  /** The virtual object's value. */
  readonly value: string
  /** null = the host object does not have the key. */
  readonly hostValue: string | null
  /** The host's value in place of it; null = the virtual object's stands. */
  readonly flowsBack: string | null
}

/** The labels or annotations of the virtual object that cross, with the value of each side. */
export function crossings(
  field: MetadataField,
  exchange: MetadataExchange,
): readonly CrossingEntry[] {
  const { virtual, kind, written, place, isPatched } = exchange
  const onHost = stringsIn(hostMetadataOf(exchange), field)
  const wasVirtual = stringsIn(written?.virtual ?? {}, field)
  const wasOnHost = stringsIn(written?.host ?? {}, field)
  return [...stringsIn(nestedMap(virtual, ['metadata']), field)].flatMap(([key, value]) => {
    const crossed = hostKeyOf(field, key, kind, place)
    if (crossed === null) return []
    const hostValue = onHost.get(crossed) ?? null
    const hasHostChange =
      hostValue !== null &&
      hostValue !== value &&
      value === wasVirtual.get(key) &&
      hostValue !== wasOnHost.get(crossed)
    const flowsBack = hasHostChange && !isPatched(['metadata', field, crossed]) ? hostValue : null
    return [{ key, hostKey: crossed, value, hostValue, flowsBack }]
  })
}

/** References of others as they are, and to the virtual cluster's own Service, which may have been created again. */
function ownerReferences(metadata: JsonMap, { owner, place }: MetadataExchange): readonly Json[] {
  const references = nestedField(metadata, ['ownerReferences'])
  const existing = isList(references) ? references.filter(isMap) : []
  // A reference to another namespace makes the garbage collector delete the object (contract 17.5).
  if (owner === null || place.namespaces !== null) return existing
  const { apiVersion, kind, name, uid } = owner
  const others = existing.filter(
    (one) => one['apiVersion'] !== apiVersion || one['kind'] !== kind || one['name'] !== name,
  )
  return [...others, { apiVersion, kind, name, uid, controller: false }]
}

const hostMetadataOf = ({ host }: MetadataExchange): JsonMap => nestedMap(host ?? {}, ['metadata'])
