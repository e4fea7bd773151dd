// Keys that own other keys: a key never outlives its owners, and never grants more than they do (contract 10.3, 12.3).
import type { Scope } from '../../api/scope.gen.ts'
import { type People, identityFaultOf, staleAtMs } from '../people/people.ts'
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

/** Finds keys by their name or their secret. */
export interface KeyLookup extends KeysByDigest {
  /** The key with this name; undefined when there is none. */
  readonly named: (name: string) => AccessKey | undefined
  /** Whom the keys act as. */
  readonly people: People
}

/** Maximum length of an owner chain. A longer chain counts as a cycle, and its keys do not work. */
export const MAX_CHAIN_LENGTH = 16

/** A key and its owners. */
interface OwnerChain {
  /** The key itself, then its owner, then the owner's owner, and so on. */
  readonly keys: readonly AccessKey[]
  /** Name of the owner that is missing or beyond the maximum length; null = the chain is complete. */
  readonly brokenAt: string | null
}

/** Follows the owner references of a key. An owner must have the name and the uid of the reference. */
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

/** The limits that an owner chain sets on its first key. */
interface ChainBounds {
  /** The earliest expiry in the chain, in epoch milliseconds; null = never. */
  readonly expiresMs: number | null
  /** Scope of the first key in the chain that has one; null = none has (contract 11.8). */
  readonly scope: Scope | null
  /** The first owner that grants less than a key below it, for example after a change; null = none. */
  readonly exceeded: AccessKey | null
  /** When the first key of the chain becomes stale unless it is refreshed, in epoch milliseconds; null = never (24.5). */
  readonly staleMs: number | null
}

/** The limits of a chain, from all its keys including the first. */
export function chainBoundsOf(keys: readonly AccessKey[], caps: Caps, nowMs: number): ChainBounds {
  let expiresMs: number | null = null
  let scope: Scope | null = null
  let exceeded: AccessKey | null = null
  let staleMs: number | null = null
  let child: AccessKey | null = null
  for (const key of keys) {
    expiresMs = earliest(expiresMs, lifetimeOf(key, caps, nowMs).expiresMs)
    staleMs = earliest(staleMs, staleAtMs(key))
    const isSufficient = isCovered(scope, key.scope) && (child === null || hasGroupsOf(child, key))
    if (exceeded === null && !isSufficient) exceeded = key
    scope ??= key.scope
    child = key
  }
  return { expiresMs, scope, exceeded, staleMs }
}

/**
 * Whether the owner has every group of the key, if both have the same identity. An administrator decides on the groups
 * of a key with another identity.
 */
const hasGroupsOf = (key: AccessKey, owner: AccessKey): boolean =>
  key.identity !== owner.identity || key.groups.every((group) => owner.groups.includes(group))

/** State and limits of a key and its owners together. */
export interface ChainStatus {
  readonly state: ChainState
  /** Name of the owner that causes this state; null = the key itself causes it. */
  readonly above: string | null
  /** The earliest expiry of the key and its owners, in epoch milliseconds; null = never. */
  readonly expiresMs: number | null
  /** Scope of the key, else of the nearest owner with one; null = none has (contract 11.8). */
  readonly scope: Scope | null
}

/** `Gone`: an owner does not exist; `Exceeded`: an owner grants less than the key that it owns. */
export type ChainState = OwnKeyState | 'Gone' | 'Exceeded'

/** Reason of the key's Ready condition (contract 4.1). */
export const readyReasonOf = ({ state, above }: Pick<ChainStatus, 'state' | 'above'>): KeyState =>
  above !== null || state === 'Gone' || state === 'Exceeded' ? 'OwnerNotReady' : state

/** The first state in the chain that is not Active, starting at the key itself; Active when all keys are. */
export function chainStatusOf(
  own: AccessKey,
  lookup: KeyLookup,
  caps: Caps,
  nowMs: number,
): ChainStatus {
  const { keys, brokenAt } = ownerChainOf(own, lookup)
  const { expiresMs, scope, exceeded } = chainBoundsOf(keys, caps, nowMs)
  const states = keys.map((key) => [key, stateOf(key, lookup, caps, nowMs)] as const)
  const [inactive, state] = states.find(([, one]) => one !== 'Active') ?? [null, 'Active' as const]
  const bounds = { expiresMs, scope }
  if (inactive !== null) return { state, above: inactive === own ? null : inactive.name, ...bounds }
  if (brokenAt !== null) return { state: 'Gone', above: brokenAt, ...bounds }
  if (exceeded !== null) return { state: 'Exceeded', above: exceeded.name, ...bounds }
  return { state, above: null, ...bounds }
}

function stateOf(key: AccessKey, lookup: KeyLookup, caps: Caps, nowMs: number): OwnKeyState {
  const identityFault = identityFaultOf(key, lookup.people, nowMs)
  const faults = { isInConflict: hasKeyConflict(key, lookup), identityFault }
  return keyStateOf(key, lifetimeOf(key, caps, nowMs), faults, nowMs)
}

/** Whether other objects with the same secret, in any state, disable a key (contract 3.3). */
export const hasKeyConflict = (
  key: AccessKey,
  lookup: Pick<KeyLookup, 'eldest' | 'isShared'>,
): boolean => keyConflictKindOf(key, lookup) !== null

/** Describes each state as a predicate that follows the name of a key in a message. */
export const CHAIN_STATE_MESSAGES: Readonly<Record<Exclude<ChainState, 'Active'>, string>> = {
  Terminating: 'is being deleted',
  NoIdentity: 'names no user, team or subject',
  KeyConflict: 'has the same key as another object',
  UserDisabled: 'acts as a user who is disabled or being deleted',
  TeamGone: 'acts as a team that is being deleted',
  IdentityGone: 'acts as a person who is gone at the sign-in provider',
  IdentityStale: 'was not refreshed at the sign-in provider for 24 hours',
  SignInAgain: 'needs its person to sign in again',
  Expired: 'has expired',
  Disabled: 'is disabled',
  Gone: `does not exist, or is beyond the ${MAX_CHAIN_LENGTH} keys that may own each other in a row`,
  Exceeded: 'has a narrower scope or fewer groups than a key that it owns',
}

/** Cached coverage of scopes: every request compares them, and a scope object changes only with its key. */
const coverageCache = new WeakMap<Scope, WeakMap<Scope, boolean>>()

/** Whether the owner's scope covers the key's scope; a key without a scope inherits the owner's. */
function isCovered(scope: Scope | null, ownerScope: Scope | null): boolean {
  if (scope === null || ownerScope === null || scope === ownerScope) return true
  const byOwnerScope = coverageCache.get(scope) ?? new WeakMap<Scope, boolean>()
  const covers = byOwnerScope.get(ownerScope) ?? firstUncoveredEntry(scope, ownerScope) === null
  coverageCache.set(scope, byOwnerScope.set(ownerScope, covers))
  return covers
}

/** Finds the keys that a change of another key affects. */
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
 * The keys whose state a change may affect: the key itself, the keys with the same secret when the key appears or
 * disappears (contract 3.3), and all keys that these own, directly or through others (10.3).
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
  return withOwnedKeys([...changed, ...peers], ownedBy)
}

/** The keys, and all keys that they own, directly or through others (contract 10.3). */
export function withOwnedKeys(
  keys: readonly AccessKey[],
  ownedBy: KeyRelations['ownedBy'],
): readonly AccessKey[] {
  const byUid = new Map(keys.map((key) => [key.uid, key]))
  let owners = [...byUid.values()]
  for (let depth = 1; depth < MAX_CHAIN_LENGTH && owners.length > 0; depth += 1) {
    owners = owners.flatMap(({ uid }) => ownedBy(uid)).filter(({ uid }) => !byUid.has(uid))
    for (const key of owners) byUid.set(key.uid, key)
  }
  return [...byUid.values()]
}
