import type { ObjectMeta } from '../api/objects.ts'
import { type KeyRef, ownerKeyOf } from './key-ref.ts'
import { isTracked, onExpiryOf } from './tracking.ts'

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
  isTracked: isTracked(metadata),
  ownerRef: ownerKeyOf(metadata),
})
