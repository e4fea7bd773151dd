// The access key that owns an object.
import { ACCESS_KEYS, GROUP } from '../api/names.ts'
import type { ObjectMeta, OwnerReference } from '../api/objects.ts'
import { isMap } from './config/json.ts'

/** Reference to an access key. */
export interface KeyRef {
  readonly name: string
  readonly uid: string
}

/** Matches no key: no key has this name or uid. */
const UNREADABLE: KeyRef = { name: '(unreadable)', uid: '' }

/**
 * The access key that the controller owner reference names; null = none (contract 5.4, 12.3). Fails closed: malformed
 * references may name a key, so the object then has an owner that does not exist (10.3).
 */
export function ownerKeyOf({ ownerReferences }: ObjectMeta): KeyRef | null {
  const all: unknown = ownerReferences ?? []
  if (!Array.isArray(all) || !all.every(isReference)) return UNREADABLE
  const owner = all.find(
    ({ apiVersion, kind, controller }) =>
      controller === true && kind === ACCESS_KEYS.kind && apiVersion.startsWith(`${GROUP}/`),
  )
  return owner ? { name: owner.name, uid: owner.uid } : null
}

const TEXTS = ['apiVersion', 'kind', 'name', 'uid']

const isReference = (value: unknown): value is OwnerReference =>
  isMap(value) &&
  TEXTS.every((name) => typeof value[name] === 'string') &&
  ['boolean', 'undefined'].includes(typeof (value['controller'] ?? undefined))
