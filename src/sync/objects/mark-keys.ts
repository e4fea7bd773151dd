// The labels and annotations by which the syncer marks host objects (contract 16.3, 17.2).

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
export const MANAGED_KEYS: Readonly<Record<MetadataField, string>> = {
  labels: `${MARK_PREFIX}managed-labels`,
  annotations: `${MARK_PREFIX}managed-annotations`,
}

/** Annotations with the keys that patches have added: without them one that no patch adds any more looks like the host's. */
export const PATCHED_KEYS: Readonly<Record<MetadataField, string>> = {
  labels: `${MARK_PREFIX}patched-labels`,
  annotations: `${MARK_PREFIX}patched-annotations`,
}

/** Annotation with the version of the rules by which labels and annotations crossed when the object was written. */
export const CROSSING_RULES = `${MARK_PREFIX}crossing-rules`

/** Objects of the first rules have no mark: there keys crossed that decide something on a host. */
export const CURRENT_RULES = '2'

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
