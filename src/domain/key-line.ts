// Keys that own keys: one never lives longer, nor grants more, than those that own it (contract 10.3, 12.3).
import type { Scope } from '../api/scope.gen.ts'
import type { AccessKey } from './access-key.ts'
import {
  conflictKindOf,
  type KeyState,
  keyStateOf,
  type OwnKeyState,
  type SecretHolders,
} from './access-key-state.ts'
import { type Caps, least, lifetimeOf } from './lifetime.ts'
import { within } from './scope/within.ts'

/** The keys that one is judged among. */
export interface KnownKeys extends SecretHolders {
  readonly named: (name: string) => AccessKey | undefined
}

/** Keys may own keys that own keys; a longer line of them is taken for a circle, and nothing works. */
export const LONGEST_LINE = 16

/** A key and those that own it. */
export interface KeyLine {
  /** The key itself, then the one that owns it, and so on. */
  readonly keys: readonly AccessKey[]
  /** Name of the next, which is not there or is one too many; null = the last key has no owner. */
  readonly brokenAt: string | null
}

/** Those that own the key, by name and uid. */
export function lineOf(key: AccessKey, { named }: Pick<KnownKeys, 'named'>): KeyLine {
  const keys = [key]
  for (let { ownerRef } = key; ownerRef !== null; ) {
    const { name, uid } = ownerRef
    const owner = keys.length < LONGEST_LINE ? named(name) : undefined
    if (owner?.uid !== uid) return { keys, brokenAt: name }
    keys.push(owner)
    ownerRef = owner.ownerRef
  }
  return { keys, brokenAt: null }
}

/** What the keys of a line make of the first. */
export interface LineBounds {
  /** Epoch milliseconds: the earliest end of any; null = never. */
  readonly expiresMs: number | null
  /** That of the nearest that has one: what binds the first; null = none has (contract 11.8). */
  readonly scope: Scope | null
  /** The first that grants less than one that it owns, which may have been given less since; null = none. */
  readonly exceeded: AccessKey | null
}

/** The bounds of a line, its first key included. */
export function boundsOf(keys: readonly AccessKey[], caps: Caps, nowMs: number): LineBounds {
  let expiresMs: number | null = null
  let scope: Scope | null = null
  let exceeded: AccessKey | null = null
  let below: AccessKey | null = null
  for (const key of keys) {
    expiresMs = least(expiresMs, lifetimeOf(key, caps, nowMs).expiresMs)
    const isWithin = isCovered(scope, key.scope) && (below === null || hasGroupsOf(below, key))
    if (exceeded === null && !isWithin) exceeded = key
    scope ??= key.scope
    below = key
  }
  return { expiresMs, scope, exceeded }
}

/**
 * Whether a key is in no group that its owner, which stands for the same, is not in. One that stands for
 * somebody else was given its groups by an administrator, on purpose.
 */
const hasGroupsOf = (key: AccessKey, owner: AccessKey): boolean =>
  key.identity !== owner.identity || key.groups.every((group) => owner.groups.includes(group))

/** What a key is, itself and by the keys that own it. */
export interface KeyStanding {
  readonly state: LineState
  /** Name of the key that owns it whose state this is; null = it is its own. */
  readonly above: string | null
  /** Epoch milliseconds: the earliest end of it and of the keys that own it; null = never. */
  readonly expiresMs: number | null
  /** Its own, or that of the nearest key that owns it and has one; null = none has (contract 11.8). */
  readonly scope: Scope | null
}

/** `Gone`: a key that owns it is not there; `Exceeded`: one grants less than what it owns. */
export type LineState = OwnKeyState | 'Gone' | 'Exceeded'

/** The reason of its Ready condition (contract 4.1). */
export const readyStateOf = ({ state, above }: Pick<KeyStanding, 'state' | 'above'>): KeyState =>
  above !== null || state === 'Gone' || state === 'Exceeded' ? 'OwnerNotReady' : state

/** The first thing that is wrong with it, or with a key that owns it; Active when nothing is. */
export function standingOf(
  own: AccessKey,
  known: KnownKeys,
  caps: Caps,
  nowMs: number,
): KeyStanding {
  const { keys, brokenAt } = lineOf(own, known)
  const { expiresMs, scope, exceeded } = boundsOf(keys, caps, nowMs)
  const states = keys.map((key) => [key, stateOf(key, known, caps, nowMs)] as const)
  const [unfit, state] = states.find(([, one]) => one !== 'Active') ?? [null, 'Active' as const]
  const bounds = { expiresMs, scope }
  if (unfit !== null) return { state, above: unfit === own ? null : unfit.name, ...bounds }
  if (brokenAt !== null) return { state: 'Gone', above: brokenAt, ...bounds }
  if (exceeded !== null) return { state: 'Exceeded', above: exceeded.name, ...bounds }
  return { state, above: null, ...bounds }
}

function stateOf(key: AccessKey, known: KnownKeys, caps: Caps, nowMs: number): OwnKeyState {
  return keyStateOf(key, lifetimeOf(key, caps, nowMs), isInConflict(key, known), nowMs)
}

/** Whether others with the same secret make a key useless, whatever their state (contract 3.3). */
export const isInConflict = (
  key: AccessKey,
  holders: Pick<KnownKeys, 'eldest' | 'isShared'>,
): boolean => conflictKindOf(key, holders) !== null

/** What is said of a key in such a state, behind its name. */
export const SAID_OF: Readonly<Record<Exclude<LineState, 'Active'>, string>> = {
  Terminating: 'is being deleted',
  NoIdentity: 'names no user, team or subject',
  KeyConflict: 'has the same key as another object',
  Expired: 'has expired',
  Disabled: 'is disabled',
  Gone: `does not exist, or is beyond the ${LONGEST_LINE} keys that may own each other in a row`,
  Exceeded: 'has a narrower scope or fewer groups than a key that it owns',
}

/** What was compared once: scopes are compared for each request, and change with their keys only. */
const compared = new WeakMap<Scope, WeakMap<Scope, boolean>>()

/** Whether a scope is within that of a key above; none inherits that one. */
function isCovered(scope: Scope | null, above: Scope | null): boolean {
  if (scope === null || above === null || scope === above) return true
  const known = compared.get(scope) ?? new WeakMap<Scope, boolean>()
  const isWithin = known.get(above) ?? within(scope, above) === null
  compared.set(scope, known.set(above, isWithin))
  return isWithin
}

/** Where the keys are found on which another one bears. */
export interface KeyRelations extends Pick<KnownKeys, 'sharing'> {
  /** The keys that the one of this uid owns. */
  readonly ownedBy: (uid: string) => readonly AccessKey[]
}

/** What became of one key; undefined = there was, or is, none. */
export interface KeyChange {
  readonly before: AccessKey | undefined
  readonly after: AccessKey | undefined
}

/**
 * The keys that a change may have made good or bad: the key itself, those with the same secret where it
 * comes or goes (contract 3.3), and those that any of these owns, through however many (10.3).
 */
export function keysTouchedBy(
  { before, after }: KeyChange,
  { sharing, ownedBy }: KeyRelations,
): readonly AccessKey[] {
  const changed = [before, after].filter((key) => key !== undefined)
  const isElsewhere =
    before?.digest !== after?.digest ||
    before?.holdsDigest !== after?.holdsDigest ||
    before?.uid !== after?.uid
  const peers = isElsewhere
    ? changed.flatMap(({ digest }) => (digest === null ? [] : sharing(digest)))
    : []
  return withOwned([...changed, ...peers], ownedBy)
}

function withOwned(
  keys: readonly AccessKey[],
  ownedBy: KeyRelations['ownedBy'],
): readonly AccessKey[] {
  const all = new Map(keys.map((key) => [key.uid, key]))
  let owners = [...all.values()]
  for (let place = 1; place < LONGEST_LINE && owners.length > 0; place += 1) {
    owners = owners.flatMap(({ uid }) => ownedBy(uid)).filter(({ uid }) => !all.has(uid))
    for (const key of owners) all.set(key.uid, key)
  }
  return [...all.values()]
}
