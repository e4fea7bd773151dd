import type { REASONS } from '../../api/reasons.ts'
import type { AccessKey } from './access-key.ts'
import type { IdentityFault } from '../people/people.ts'
import { isOlder } from '../shared-metadata.ts'
import { type Lifetime, isLive } from './lifetime.ts'

/** Reason of a key's Ready condition (contract 4.1). */
export type KeyState = (typeof REASONS.accessKeyReady)[number]

/** State of the key alone, without its owners. */
export type OwnKeyState = Exclude<KeyState, 'OwnerNotReady'>

/** What other objects do to a key. */
interface KeyFaults {
  /** Whether others with the same key disable this one (contract 3.3). */
  readonly isInConflict: boolean
  /** Why its person or team keeps it from working (contract 24.5); null = it does not. */
  readonly identityFault: IdentityFault | null
}

/** The state of a key: the first that applies, in the order of contract 4.1 and 24.5; Active when none does. */
export function keyStateOf(
  key: AccessKey,
  lifetime: Lifetime,
  { isInConflict, identityFault }: KeyFaults,
  nowMs: number,
): OwnKeyState {
  const checks: readonly (readonly [OwnKeyState, boolean])[] = [
    ['Terminating', key.isDeleting],
    ['NoIdentity', key.identity === null],
    ['KeyConflict', isInConflict],
    ...(identityFault === null ? [] : ([[identityFault, true]] as const)),
    ['Expired', !isLive(lifetime.expiresMs, nowMs)],
    ['Disabled', key.isDisabled],
  ]
  return checks.find(([, holds]) => holds)?.[0] ?? 'Active'
}

/** Why an object does not work although nothing else is wrong: others have the same secret (contract 3.3). */
export interface KeyConflict {
  /** `elder`: an older object works instead. `unproven`: the oldest has only the digest, so none of them works. */
  readonly kind: 'elder' | 'unproven'
  /** For `elder` the name of the object that works; for `unproven` the names of all, oldest first. */
  readonly names: readonly string[]
}

/** Finds the keys with the same secret as a given key, which need not exist any more. */
export interface KeysByDigest {
  /** All keys with that secret. */
  readonly sharing: (key: AccessKey) => readonly AccessKey[]
  /** The oldest key with that secret; undefined when there is none. */
  readonly eldest: (key: AccessKey) => AccessKey | undefined
  /** Whether several keys have that secret. */
  readonly isShared: (key: AccessKey) => boolean
}

/** Kind of the conflict that disables the key; null = no conflict. */
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

/** The conflict that disables the key, with the names involved; null = no conflict. */
export function keyConflictOf(key: AccessKey, lookup: KeysByDigest): KeyConflict | null {
  const kind = keyConflictKindOf(key, lookup)
  if (kind === null || key.digest === null) return null
  const all = kind === 'elder' ? [lookup.eldest(key)] : lookup.sharing(key)
  const names = all.filter((one) => one !== undefined).toSorted(byAge)
  return { kind, names: names.map(({ name }) => name) }
}

const byAge = (a: AccessKey, b: AccessKey): number => (isOlder(a, b) ? -1 : 1)

/** The oldest key, by creationTimestamp and then by uid; undefined for an empty list. */
export const oldestKeyOf = (keys: readonly AccessKey[]): AccessKey | undefined =>
  keys.toSorted(byAge)[0]
