import { EXPIRED_ANNOTATION } from '../api/names.ts'
import type { ObjectMeta } from '../api/objects.ts'
import { type KeyRef, owningKeyOf } from './accesskey/owner-chain.ts'

/** The metadata of a key or token that decisions use. */
export interface CredentialObject {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly isDeleting: boolean
  /** An object with a deletionTimestamp and no finalizer no longer exists. */
  readonly finalizers: readonly string[]
  /** Value of the annotation for expiry; null when it is absent or unknown. */
  readonly onExpiry: 'Keep' | 'Delete' | null
  /** A GitOps tool applies it, and would create it again after a delete (contract 5.2). */
  readonly isTracked: boolean
  /** The access key that its controller owner reference names; null = none (contract 5.4, 10.3). */
  readonly ownerRef: KeyRef | null
}

/** Shared by the many objects without finalizers. */
const NONE: readonly string[] = []

/** The view of an object's metadata. */
export const credentialObjectOf = (metadata: ObjectMeta): CredentialObject => ({
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  generation: metadata.generation ?? 0,
  isDeleting: metadata.deletionTimestamp !== undefined,
  finalizers: metadata.finalizers ?? NONE,
  onExpiry: onExpiryOf(metadata),
  isTracked: isAppliedByGitOps(metadata),
  ownerRef: owningKeyOf(metadata),
})

// What decides whether an object is deleted after its credential has ended (contract 5.2).

/** Value of the annotation for expiry; null when it is absent or unknown. */
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
