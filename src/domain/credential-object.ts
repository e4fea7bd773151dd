import type { ObjectMeta } from '../api/meta.ts'
import { type KeyRef, ownerKeyOf } from './key-ref.ts'
import { isTracked, onExpiryOf } from './tracking.ts'

/** What decisions ask of the metadata of any object that holds a credential. */
export interface CredentialObject {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly isDeleting: boolean
  /** Without one, an object being deleted is gone already. */
  readonly finalizers: readonly string[]
  /** What its annotation asks for after expiry; null when it says nothing that we know. */
  readonly onExpiry: 'Keep' | 'Delete' | null
  /** A GitOps tool applies it: deleted, it would come back (contract 5.2). */
  readonly isTracked: boolean
  /** The access key that its controller owner reference names; null = none (contract 5.4, 10.3). */
  readonly ownerRef: KeyRef | null
}

/** Shared by the many objects without finalizers. */
const NONE: readonly string[] = []

/** Reads that out of an object's metadata. */
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
