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

/** The keys whose secret has one SHA-256, in hex. */
export interface SecretHolders {
  /** All of them. */
  readonly sharing: (digest: string) => readonly AccessKey[]
  /** The eldest, and whether there is another: what decides, found without going through them. */
  readonly eldest: (digest: string) => AccessKey | undefined
  readonly isShared: (digest: string) => boolean
}

/** Of which kind the conflict is that keeps a key, which is one of them, from working; null = there is none. */
export function conflictKindOf(
  { uid, digest }: AccessKey,
  { eldest, isShared }: Pick<SecretHolders, 'eldest' | 'isShared'>,
): Conflict['kind'] | null {
  const first = eldest(digest ?? '')
  const isOnlyOne = !isShared(digest ?? '')
  if (digest === null || first === undefined) return null
  if (first.holdsDigest && !isOnlyOne) return 'unproven'
  return first.uid === uid ? null : 'elder'
}

/** What keeps a key from working among those with the same secret, of which it is one; null = nothing. */
export function conflictOf(key: AccessKey, holders: SecretHolders): Conflict | null {
  const kind = conflictKindOf(key, holders)
  if (kind === null || key.digest === null) return null
  const all = kind === 'elder' ? [holders.eldest(key.digest)] : holders.sharing(key.digest)
  const names = all.filter((one) => one !== undefined).toSorted(byAge)
  return { kind, names: names.map(({ name }) => name) }
}

const byAge = (a: AccessKey, b: AccessKey): number => (isElder(a, b) ? -1 : 1)

/** The oldest of the keys with the same secret, then the one with the lowest uid. */
export const eldestOf = (keys: readonly AccessKey[]): AccessKey | undefined =>
  keys.toSorted(byAge)[0]

/** Whether a key is older than another: by creationTimestamp, then by uid (contract 3.3). */
export const isElder = (a: AccessKey, b: AccessKey): boolean =>
  a.creationMs === b.creationMs ? a.uid < b.uid : a.creationMs < b.creationMs
