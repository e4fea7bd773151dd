// Keys that own keys: a key never outlives its owners, and never grants more than they do (contract 10.3, 12.3).
import type { Scope } from '../../api/scope.gen.ts'
import { firstUncoveredEntry } from '../scope/covers.ts'
import type { AccessKey } from './access-key.ts'
import {
  type KeyState,
  type OwnKeyState,
  type KeysByDigest,
  keyConflictKindOf,
  keyStateOf,
} from './key-state.ts'
import { type Caps, earliest, lifetimeOf } from './lifetime.ts'

/** Look-up of all known keys. */
export interface KeyLookup extends KeysByDigest {
  readonly named: (name: string) => AccessKey | undefined
}

/** Maximum length of a chain of owners. A longer one counts as a cycle, and its keys do not work. */
export const MAX_CHAIN_LENGTH = 16

/** A key and its chain of owners. */
interface OwnerChain {
  /** The key itself, then its owner, then the owner of that, and so on. */
  readonly keys: readonly AccessKey[]
  /** Name of the owner that does not exist or exceeds the maximum length; null = the last key has no owner. */
  readonly brokenAt: string | null
}

/** The chain of owners of a key. An owner must have the name and the uid of the reference. */
export function ownerChainOf(key: AccessKey, { named }: Pick<KeyLookup, 'named'>): OwnerChain {
  const keys = [key]
  for (let { ownerRef } = key; ownerRef !== null; ) {
    const { name, uid } = ownerRef
    const owner = keys.length < MAX_CHAIN_LENGTH ? named(name) : undefined
    if (owner?.uid !== uid) return { keys, brokenAt: name }
    keys.push(owner)
    ownerRef = owner.ownerRef
  }
  return { keys, brokenAt: null }
}

/** The limits that a chain sets on its first key. */
interface ChainBounds {
  /** Epoch milliseconds: the earliest end in the chain; null = never. */
  readonly expiresMs: number | null
  /** Scope of the nearest key that has one; null = none has (contract 11.8). */
  readonly scope: Scope | null
  /** The first owner that grants less than a key it owns, for example after a change; null = none. */
  readonly exceeded: AccessKey | null
}

/** The bounds of a chain, its first key included. */
export function chainBoundsOf(keys: readonly AccessKey[], caps: Caps, nowMs: number): ChainBounds {
  let expiresMs: number | null = null
  let scope: Scope | null = null
  let exceeded: AccessKey | null = null
  let child: AccessKey | null = null
  for (const key of keys) {
    expiresMs = earliest(expiresMs, lifetimeOf(key, caps, nowMs).expiresMs)
    const isSufficient = isCovered(scope, key.scope) && (child === null || hasGroupsOf(child, key))
    if (exceeded === null && !isSufficient) exceeded = key
    scope ??= key.scope
    child = key
  }
  return { expiresMs, scope, exceeded }
}

/**
 * Whether the owner is in every group of a key with the same identity. The groups of a key with another identity are
 * the decision of an administrator.
 */
const hasGroupsOf = (key: AccessKey, owner: AccessKey): boolean =>
  key.identity !== owner.identity || key.groups.every((group) => owner.groups.includes(group))

/** State and limits of a key, its owners included. */
export interface ChainStatus {
  readonly state: ChainState
  /** Name of the owner with this state; null = the key itself has it. */
  readonly above: string | null
  /** Epoch milliseconds: the earliest end of the key and its owners; null = never. */
  readonly expiresMs: number | null
  /** Scope of the key, else of the nearest owner with one; null = none has (contract 11.8). */
  readonly scope: Scope | null
}

/** `Gone`: an owner does not exist; `Exceeded`: an owner grants less than the key that it owns. */
export type ChainState = OwnKeyState | 'Gone' | 'Exceeded'

/** The reason of its Ready condition (contract 4.1). */
export const readyReasonOf = ({ state, above }: Pick<ChainStatus, 'state' | 'above'>): KeyState =>
  above !== null || state === 'Gone' || state === 'Exceeded' ? 'OwnerNotReady' : state

/** The first state of the key or an owner that is not Active; Active when all are. */
export function chainStatusOf(
  own: AccessKey,
  known: KeyLookup,
  caps: Caps,
  nowMs: number,
): ChainStatus {
  const { keys, brokenAt } = ownerChainOf(own, known)
  const { expiresMs, scope, exceeded } = chainBoundsOf(keys, caps, nowMs)
  const states = keys.map((key) => [key, stateOf(key, known, caps, nowMs)] as const)
  const [inactive, state] = states.find(([, one]) => one !== 'Active') ?? [null, 'Active' as const]
  const bounds = { expiresMs, scope }
  if (inactive !== null) return { state, above: inactive === own ? null : inactive.name, ...bounds }
  if (brokenAt !== null) return { state: 'Gone', above: brokenAt, ...bounds }
  if (exceeded !== null) return { state: 'Exceeded', above: exceeded.name, ...bounds }
  return { state, above: null, ...bounds }
}

function stateOf(key: AccessKey, known: KeyLookup, caps: Caps, nowMs: number): OwnKeyState {
  return keyStateOf(key, lifetimeOf(key, caps, nowMs), hasKeyConflict(key, known), nowMs)
}

/** Whether other objects with the same secret, in any state, disable a key (contract 3.3). */
export const hasKeyConflict = (
  key: AccessKey,
  holders: Pick<KeyLookup, 'eldest' | 'isShared'>,
): boolean => keyConflictKindOf(key, holders) !== null

/** The state as a predicate, to follow the name of the key. */
export const CHAIN_STATE_MESSAGES: Readonly<Record<Exclude<ChainState, 'Active'>, string>> = {
  Terminating: 'is being deleted',
  NoIdentity: 'names no user, team or subject',
  KeyConflict: 'has the same key as another object',
  Expired: 'has expired',
  Disabled: 'is disabled',
  Gone: `does not exist, or is beyond the ${MAX_CHAIN_LENGTH} keys that may own each other in a row`,
  Exceeded: 'has a narrower scope or fewer groups than a key that it owns',
}

/** Cache: every request compares scopes, and a scope object changes only with its key. */
const compared = new WeakMap<Scope, WeakMap<Scope, boolean>>()

/** Whether the owner's scope covers a scope; an absent scope inherits the owner's. */
function isCovered(scope: Scope | null, above: Scope | null): boolean {
  if (scope === null || above === null || scope === above) return true
  const known = compared.get(scope) ?? new WeakMap<Scope, boolean>()
  const covers = known.get(above) ?? firstUncoveredEntry(scope, above) === null
  compared.set(scope, known.set(above, covers))
  return covers
}

/** Look-up of the keys that a change of another key affects. */
export interface KeyRelations extends Pick<KeyLookup, 'sharing'> {
  /** The keys that the key with this uid owns. */
  readonly ownedBy: (uid: string) => readonly AccessKey[]
}

/** A key before and after a change; undefined = it does not exist. */
interface KeyChange {
  readonly before: AccessKey | undefined
  readonly after: AccessKey | undefined
}

/**
 * The keys whose state a change may affect: the key itself, those with the same secret when it appears or
 * disappears (contract 3.3), and all that any of these owns, directly or through others (10.3).
 */
export function keysAffectedBy(
  { before, after }: KeyChange,
  { sharing, ownedBy }: KeyRelations,
): readonly AccessKey[] {
  const changed = [before, after].filter((key) => key !== undefined)
  const changesConflicts =
    before?.digest !== after?.digest ||
    before?.holdsDigest !== after?.holdsDigest ||
    before?.uid !== after?.uid
  const peers = changesConflicts
    ? changed.flatMap((key) => (key.digest === null ? [] : sharing(key)))
    : []
  return withOwned([...changed, ...peers], ownedBy)
}

function withOwned(
  keys: readonly AccessKey[],
  ownedBy: KeyRelations['ownedBy'],
): readonly AccessKey[] {
  const all = new Map(keys.map((key) => [key.uid, key]))
  let owners = [...all.values()]
  for (let place = 1; place < MAX_CHAIN_LENGTH && owners.length > 0; place += 1) {
    owners = owners.flatMap(({ uid }) => ownedBy(uid)).filter(({ uid }) => !all.has(uid))
    for (const key of owners) all.set(key.uid, key)
  }
  return [...all.values()]
}
