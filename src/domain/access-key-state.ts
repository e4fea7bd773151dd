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
 * @param hasElder whether an older object has the same key (contract 3.3)
 */
export function keyStateOf(
  key: AccessKey,
  lifetime: Lifetime,
  hasElder: boolean,
  nowMs: number,
): OwnKeyState {
  const checks: readonly (readonly [OwnKeyState, boolean])[] = [
    ['Terminating', key.isDeleting],
    ['NoIdentity', key.identity === null],
    ['KeyConflict', hasElder],
    ['Expired', !isLive(lifetime.expiresMs, nowMs)],
    ['Disabled', key.isDisabled],
  ]
  return checks.find(([, holds]) => holds)?.[0] ?? 'Active'
}

/** The key that wins among those with the same secret: the oldest, then the lowest uid. */
export function eldestOf(keys: readonly AccessKey[]): AccessKey | undefined {
  return keys.reduce<AccessKey | undefined>(
    (eldest, key) => (eldest && isElder(eldest, key) ? eldest : key),
    undefined,
  )
}

const isElder = (a: AccessKey, b: AccessKey): boolean =>
  a.creationMs === b.creationMs ? a.uid < b.uid : a.creationMs < b.creationMs
