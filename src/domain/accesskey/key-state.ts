import type { REASONS } from '../../api/names.ts'
import type { AccessKey } from './access-key.ts'
import { type Lifetime, isLive } from './lifetime.ts'

/** Reason of a key's Ready condition (contract 4.1). */
export type KeyState = (typeof REASONS.accessKeyReady)[number]

/** State of a key itself, without regard to its owners. */
export type OwnKeyState = Exclude<KeyState, 'OwnerNotReady'>

/**
 * The first state that applies; Active when none does.
 *
 * @param isInConflict whether other objects with the same key disable this one (contract 3.3)
 */
export function keyStateOf(
  key: AccessKey,
  lifetime: Lifetime,
  isInConflict: boolean,
  nowMs: number,
): OwnKeyState {
  const checks: readonly (readonly [OwnKeyState, boolean])[] = [
    ['Terminating', key.isDeleting],
    ['NoIdentity', key.identity === null],
    ['KeyConflict', isInConflict],
    ['Expired', !isLive(lifetime.expiresMs, nowMs)],
    ['Disabled', key.isDisabled],
  ]
  return checks.find(([, holds]) => holds)?.[0] ?? 'Active'
}

/** Several objects with the same secret, of which this one does not work (contract 3.3). */
export interface KeyConflict {
  /** `elder`: an older object works instead. `unproven`: the oldest has only the digest, and none works. */
  readonly kind: 'elder' | 'unproven'
  /** Names: the object that works; for `unproven` all of them, oldest first. */
  readonly names: readonly string[]
}

/** Look-up of the keys that have the secret of a given one; that key may be gone by now. */
export interface KeysByDigest {
  /** All of them. */
  readonly sharing: (key: AccessKey) => readonly AccessKey[]
  /** The oldest of them, and whether several have it: found without a walk over all. */
  readonly eldest: (key: AccessKey) => AccessKey | undefined
  readonly isShared: (key: AccessKey) => boolean
}

/** Kind of the conflict that disables a key; null = there is none. */
export function keyConflictKindOf(
  key: AccessKey,
  { eldest, isShared }: Pick<KeysByDigest, 'eldest' | 'isShared'>,
): KeyConflict['kind'] | null {
  const first = eldest(key)
  const isOnlyOne = !isShared(key)
  if (key.digest === null || first === undefined) return null
  if (first.holdsDigest && !isOnlyOne) return 'unproven'
  return first.uid === key.uid ? null : 'elder'
}

/** The conflict that disables a key; null = there is none. */
export function keyConflictOf(key: AccessKey, holders: KeysByDigest): KeyConflict | null {
  const kind = keyConflictKindOf(key, holders)
  if (kind === null || key.digest === null) return null
  const all = kind === 'elder' ? [holders.eldest(key)] : holders.sharing(key)
  const names = all.filter((one) => one !== undefined).toSorted(byAge)
  return { kind, names: names.map(({ name }) => name) }
}

const byAge = (a: AccessKey, b: AccessKey): number => (isOlderKey(a, b) ? -1 : 1)

/** The oldest key; of several as old, the one with the lowest uid. Undefined for an empty list. */
export const oldestKeyOf = (keys: readonly AccessKey[]): AccessKey | undefined =>
  keys.toSorted(byAge)[0]

/** Whether a key is older than another: by creationTimestamp, then by uid (contract 3.3). */
export const isOlderKey = (a: AccessKey, b: AccessKey): boolean =>
  a.creationMs === b.creationMs ? a.uid < b.uid : a.creationMs < b.creationMs
