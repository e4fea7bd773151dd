// Marks of host objects: they say which virtual object each is of (contract 16.3, 17.2).
import { nestedField, nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { isMap, type JsonMap, mapFromEntries } from '../../domain/json/json.ts'
import { type HostPlace, hostNameOf, type VirtualName } from './host-name.ts'

/** The prefix of labels and annotations that the syncer writes. */
export const MARK_PREFIX = 'vcluster.platform.sh/'

/** A map of strings in the metadata of an object. */
export type MetadataField = 'labels' | 'annotations'

/** Labels of every host object: its virtual cluster, and the virtual namespace that it is from. */
export const MARK_LABELS = {
  managedBy: `${MARK_PREFIX}managed-by`,
  namespace: `${MARK_PREFIX}namespace`,
} as const

/** Annotations of every host object: the virtual object that it is of, and itself. */
export const MARK_ANNOTATIONS = {
  name: `${MARK_PREFIX}object-name`,
  namespace: `${MARK_PREFIX}object-namespace`,
  uid: `${MARK_PREFIX}object-uid`,
  kind: `${MARK_PREFIX}object-kind`,
  hostName: `${MARK_PREFIX}object-host-name`,
  hostNamespace: `${MARK_PREFIX}object-host-namespace`,
} as const

/** Annotations with the keys that the virtual object has: without them a removed key looks like one of the host. */
const MANAGED_KEYS: Readonly<Record<MetadataField, string>> = {
  labels: `${MARK_PREFIX}managed-labels`,
  annotations: `${MARK_PREFIX}managed-annotations`,
}

/** Annotations with the keys that patches have added: without them one that no patch adds any more looks like the host's. */
const PATCHED_KEYS: Readonly<Record<MetadataField, string>> = {
  labels: `${MARK_PREFIX}patched-labels`,
  annotations: `${MARK_PREFIX}patched-annotations`,
}

/** Annotation with the version of the rules by which labels and annotations crossed when the object was written. */
const CROSSING_RULES = `${MARK_PREFIX}crossing-rules`

/** Objects of the first rules have no mark: there keys crossed that decide something on a host. */
const CURRENT_RULES = '2'

/** Whether the host object was written by the rules of this syncer, so that no key of others has crossed to it. */
export const hasCurrentRules = (metadata: JsonMap): boolean =>
  nestedString(metadata, ['annotations', CROSSING_RULES]) === CURRENT_RULES

/** The keys of marks. The syncer alone writes them on host objects, and they never cross (contract 17.3). */
export const MARK_KEYS: Readonly<Record<MetadataField, ReadonlySet<string>>> = {
  labels: new Set(Object.values(MARK_LABELS)),
  annotations: new Set([
    ...Object.values(MARK_ANNOTATIONS),
    ...Object.values(MANAGED_KEYS),
    ...Object.values(PATCHED_KEYS),
    CROSSING_RULES,
  ]),
}

/** A label or annotation with the value `true` here leaves its object alone (contract 16.3). */
export const SKIP_SYNC = `${MARK_PREFIX}skip-sync`

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

/** The labels or annotations of metadata. Values that are no strings are left out: the API server takes none. */
export function stringsIn(metadata: JsonMap, field: MetadataField): ReadonlyMap<string, string> {
  const found = nestedField(metadata, [field])
  const entries = isMap(found) ? Object.entries(found) : []
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}
