// Which access key an object belongs to.
import { ACCESS_KEYS, GROUP } from '../api/group.ts'
import type { ObjectMeta } from '../api/meta.ts'

/** Names an access key. */
export interface KeyRef {
  readonly name: string
  readonly uid: string
}

/** The access key that the controller owner reference names; null = none (contract 5.4, 12.3). */
export function ownerKeyOf({ ownerReferences = [] }: ObjectMeta): KeyRef | null {
  const owner = ownerReferences.find(
    ({ apiVersion, kind, controller }) =>
      controller === true && kind === ACCESS_KEYS.kind && apiVersion.startsWith(`${GROUP}/`),
  )
  return owner ? { name: owner.name, uid: owner.uid } : null
}
