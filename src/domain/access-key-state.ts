import type { AccessKey } from './access-key.ts'
import { isLive, type Lifetime } from './lifetime.ts'

/**
 * Why a key is ready or not: the reasons of its Ready condition (contract 4.1). `OwnerNotReady`: a key that
 * owns it does not work, or grants less than it (10.3, 12.3).
 */
export const KEY_STATES = [
  'Active',
  'Terminating',
  'NoIdentity',
  'KeyConflict',
  'Expired',
  'Disabled',
  'OwnerNotReady',
] as const

/** One of KEY_STATES. */
export type KeyState = (typeof KEY_STATES)[number]

/** What a key is by itself, whoever owns it. */
export type OwnKeyState = Exclude<KeyState, 'OwnerNotReady'>

/**
 * The first that holds; Active when none does.
 *
 * @param isInConflict whether other objects with the same key make this one useless (contract 3.3)
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

/** Objects with the same key, because of which one of them does not work (contract 3.3). */
export interface Conflict {
  /** `elder`: the oldest wins, and this is not it. `unproven`: the oldest holds the digest only, and none works. */
  readonly kind: 'elder' | 'unproven'
  /** Names: of the one that wins; or of all of them, the oldest first. */
  readonly names: readonly string[]
}

/** What keeps a key from working among those with the same secret, itself included or not; null = nothing. */
export function conflictOf(key: AccessKey, sharing: readonly AccessKey[]): Conflict | null {
  const eldest = eldestOf([key, ...sharing]) ?? key
  const isAlone = sharing.every(({ uid }) => uid === key.uid)
  if (eldest.holdsDigest && !isAlone) return { kind: 'unproven', names: namesByAge(key, sharing) }
  return eldest.uid === key.uid ? null : { kind: 'elder', names: [eldest.name] }
}

const namesByAge = (key: AccessKey, sharing: readonly AccessKey[]): readonly string[] =>
  [key, ...sharing.filter(({ uid }) => uid !== key.uid)]
    .toSorted((a, b) => (isElder(a, b) ? -1 : 1))
    .map(({ name }) => name)

/** The oldest of the keys with the same secret, then the one with the lowest uid. */
export function eldestOf(keys: readonly AccessKey[]): AccessKey | undefined {
  return keys.reduce<AccessKey | undefined>(
    (eldest, key) => (eldest && isElder(eldest, key) ? eldest : key),
    undefined,
  )
}

const isElder = (a: AccessKey, b: AccessKey): boolean =>
  a.creationMs === b.creationMs ? a.uid < b.uid : a.creationMs < b.creationMs
