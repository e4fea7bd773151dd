// Marks of host namespaces in multi-namespace mode (contract 17.2, 17.5).
import { nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { type JsonMap, mapFromEntries } from '../../domain/json/json.ts'
import { markedKind } from '../objects/host-metadata.ts'
import { type HostPlace, hostNameOf } from '../objects/host-name.ts'
import {
  MARK_ANNOTATIONS,
  MARK_LABELS,
  MARK_PREFIX,
  type MetadataField,
} from '../objects/mark-keys.ts'

const KIND = 'Namespace'

const NAMESPACE_ANNOTATIONS = {
  name: MARK_ANNOTATIONS.name,
  uid: MARK_ANNOTATIONS.uid,
  kind: MARK_ANNOTATIONS.kind,
  hostName: MARK_ANNOTATIONS.hostName,
  /** The value of `--host-namespace`: two virtual clusters of one host may have the same name. */
  syncerNamespace: `${MARK_PREFIX}syncer-namespace`,
} as const

/**
 * A label, so that a selector finds what is to be deleted with its virtual cluster; the value is that of
 * `--host-namespace`. A namespace with this label was made by the syncer, which may delete it.
 */
const MADE = `${MARK_PREFIX}made-by-syncer`

/** The keys of the marks of host namespaces. */
const NAMESPACE_MARK_KEYS: Readonly<Record<MetadataField, readonly string[]>> = {
  labels: [...Object.values(MARK_LABELS), MADE],
  annotations: Object.values(NAMESPACE_ANNOTATIONS),
}

/** A namespace of the virtual cluster. */
export interface VirtualNamespace {
  readonly name: string
  readonly uid: string
}

/** The owner of a host namespace by its marks. `foreign`: the marks are broken, or name another virtual cluster. */
export type NamespaceMark =
  | { readonly kind: 'none' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'ours'; readonly virtual: VirtualNamespace; readonly isMade: boolean }

/** The marks of the host namespace of a virtual one. Nothing of the virtual namespace's own metadata crosses. */
export const namespaceMarks = (
  { name, uid }: VirtualNamespace,
  isMade: boolean,
  place: HostPlace,
): Readonly<Record<MetadataField, Readonly<Record<string, string>>>> => ({
  labels: {
    [MARK_LABELS.managedBy]: place.virtualCluster,
    [MARK_LABELS.namespace]: name,
    ...(isMade ? { [MADE]: place.hostNamespace } : {}),
  },
  annotations: {
    [NAMESPACE_ANNOTATIONS.name]: name,
    [NAMESPACE_ANNOTATIONS.uid]: uid,
    [NAMESPACE_ANNOTATIONS.kind]: markedKind(KIND),
    [NAMESPACE_ANNOTATIONS.hostName]: hostNamespaceOf(name, place),
    [NAMESPACE_ANNOTATIONS.syncerNamespace]: place.hostNamespace,
  },
})

/** The host namespace of a virtual one; in single-namespace mode the same for all. */
export const hostNamespaceOf = (namespace: string, place: HostPlace): string =>
  hostNameOf({ name: '', namespace }, place).namespace

/** Reads the marks in the metadata of a host namespace. A mark that was copied from another namespace is broken: it names that one. */
export function namespaceMark(metadata: JsonMap, place: HostPlace): NamespaceMark {
  const strings = { ...nestedMap(metadata, ['labels']), ...nestedMap(metadata, ['annotations']) }
  const keys = [...NAMESPACE_MARK_KEYS.labels, ...NAMESPACE_MARK_KEYS.annotations]
  if (!keys.some((key) => Object.hasOwn(strings, key))) return { kind: 'none' }

  const at = (key: keyof typeof NAMESPACE_ANNOTATIONS): string =>
    nestedString(metadata, ['annotations', NAMESPACE_ANNOTATIONS[key]])
  const virtual = { name: at('name'), uid: at('uid') }
  const isOurs =
    virtual.name !== '' &&
    at('kind') === markedKind(KIND) &&
    at('hostName') === nestedString(metadata, ['name']) &&
    at('syncerNamespace') === place.hostNamespace &&
    nestedString(metadata, ['labels', MARK_LABELS.managedBy]) === place.virtualCluster
  if (!isOurs) return { kind: 'foreign' }
  const isMade = nestedString(metadata, ['labels', MADE]) === place.hostNamespace
  return { kind: 'ours', virtual, isMade }
}

/** The metadata of a host namespace with these marks, or without any. Other labels and annotations stay. */
export const withNamespaceMarks = (
  metadata: JsonMap,
  marks: ReturnType<typeof namespaceMarks> | null,
): Readonly<Record<MetadataField, JsonMap>> => {
  const others = (field: MetadataField): JsonMap =>
    mapFromEntries(
      Object.entries(nestedMap(metadata, [field])).filter(
        ([key]) => !NAMESPACE_MARK_KEYS[field].includes(key),
      ),
    )
  return {
    labels: { ...others('labels'), ...marks?.labels },
    annotations: { ...others('annotations'), ...marks?.annotations },
  }
}
