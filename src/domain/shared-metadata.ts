// Metadata that access keys and tokens share: their owner, and whether they are kept after their expiry.
import { ACCESS_KEYS, EXPIRED_ANNOTATION, GROUP, REVOKE_FINALIZER } from '../api/names.ts'
import type { ObjectMeta, OwnerReference } from '../api/objects.ts'
import { isMap } from './json/json.ts'

/** The metadata of a key or token. */
export interface CredentialObject {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly isDeleting: boolean
  /** An object with a deletionTimestamp and no finalizer no longer exists. */
  readonly finalizers: readonly string[]
  /** Value of annotation `expired` (contract 5.2); null when it is absent or has another value. */
  readonly onExpiry: 'Keep' | 'Delete' | null
  /** Whether a GitOps tool applies the object, and would create it again after a delete (contract 5.2). */
  readonly isTracked: boolean
  /** The access key that the object's controller owner reference names; null = none (contract 5.4, 10.3). */
  readonly ownerRef: KeyRef | null
}

/** One list for all objects with the same finalizers, to save memory: almost all have ours alone, or none. */
const KNOWN_FINALIZERS: readonly (readonly string[])[] = [[REVOKE_FINALIZER], []]

/** The finalizers of an object; empty when it has none. */
export const finalizersOf = ({ finalizers = [] }: ObjectMeta): readonly string[] =>
  KNOWN_FINALIZERS.find(
    (known) => known.length === finalizers.length && known[0] === finalizers[0],
  ) ?? finalizers

/** Reads the shared metadata of a key or token. */
export const credentialObjectOf = (metadata: ObjectMeta): CredentialObject => ({
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  generation: metadata.generation ?? 0,
  isDeleting: metadata.deletionTimestamp !== undefined,
  finalizers: finalizersOf(metadata),
  onExpiry: onExpiryOf(metadata),
  isTracked: isAppliedByGitOps(metadata),
  ownerRef: owningKeyOf(metadata),
})

/** Value of annotation `expired` (contract 5.2); null when it is absent or has another value. */
export function onExpiryOf({ annotations = {} }: ObjectMeta): 'Keep' | 'Delete' | null {
  const value = annotations[EXPIRED_ANNOTATION]
  return value === 'Keep' || value === 'Delete' ? value : null
}

const TRACKING_LABELS = ['kustomize.toolkit.fluxcd.io/name', 'helm.toolkit.fluxcd.io/name']

/** Whether a GitOps tool applies the object, and would create it again after a delete (contract 5.2). */
export function isAppliedByGitOps({
  annotations = {},
  labels = {},
  managedFields = [],
}: ObjectMeta): boolean {
  return (
    Object.hasOwn(annotations, 'argocd.argoproj.io/tracking-id') ||
    labels['app.kubernetes.io/managed-by'] === 'Helm' ||
    TRACKING_LABELS.some((label) => Object.hasOwn(labels, label)) ||
    (Object.hasOwn(labels, 'app.kubernetes.io/instance') &&
      managedFields.some(({ manager }) => manager?.startsWith('argocd')))
  )
}

/** Reference to an access key. */
export interface KeyRef {
  readonly name: string
  readonly uid: string
}

/** Stands for malformed owner references: no key has this name or uid. */
const MALFORMED_OWNER: KeyRef = { name: '(unreadable)', uid: '' }

/**
 * The access key that the controller owner reference names; null = none (contract 5.4, 12.3). Fails closed: an object
 * with malformed references may have an owner, so it gets one that does not exist (10.3).
 */
export function owningKeyOf({ ownerReferences }: ObjectMeta): KeyRef | null {
  const references: unknown = ownerReferences ?? []
  if (!Array.isArray(references) || !references.every(isOwnerReference)) return MALFORMED_OWNER
  const owner = references.find((to) => to.controller === true && namesAccessKey(to))
  return owner ? { name: owner.name, uid: owner.uid } : null
}

/** Whether owner references name access keys, and none of them as the controller (contract 5.4). */
export const namesKeysWithoutController = ({ ownerReferences = [] }: ObjectMeta): boolean => {
  const keys = ownerReferences.filter(namesAccessKey)
  return keys.length > 0 && keys.every(({ controller }) => controller !== true)
}

const namesAccessKey = ({ apiVersion, kind }: OwnerReference): boolean =>
  kind === ACCESS_KEYS.kind && apiVersion.startsWith(`${GROUP}/`)

const STRING_FIELDS = ['apiVersion', 'kind', 'name', 'uid']

const isOwnerReference = (value: unknown): value is OwnerReference =>
  isMap(value) &&
  STRING_FIELDS.every((name) => typeof value[name] === 'string') &&
  ['boolean', 'undefined'].includes(typeof (value['controller'] ?? undefined))

/** Whether an object is older than another: by creationTimestamp, then by uid (contract 3.3, 28.8). */
export const isOlder = (
  a: { readonly creationMs: number; readonly uid: string },
  b: { readonly creationMs: number; readonly uid: string },
): boolean => (a.creationMs === b.creationMs ? a.uid < b.uid : a.creationMs < b.creationMs)
