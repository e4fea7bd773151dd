// Whether a key opens anything, from everything that bears on it, at the moment it is asked (contract 10.3).
// What the operator wrote into status is not consulted.
import { ACCESS_KEYS, API_VERSION } from '../api/group.ts'
import { type AccessKey, accessKeyOf } from '../domain/access-key.ts'
import { eldestOf } from '../domain/access-key-state.ts'
import type { Scope } from '../api/scope.gen.ts'
import { within } from '../domain/scope/within.ts'
import { type Caps, isLive, least, lifetimeOf } from '../domain/lifetime.ts'
import { meaningOf } from './key-meaning.ts'

/** Why a key does not work, for our own log and metrics; callers are told less (contract 10.2). */
export const KEY_REFUSALS = [
  'unknown',
  'deleted',
  'noIdentity',
  'purpose',
  'conflict',
  'disabled',
  'owner',
  'expired',
] as const

/** One of KEY_REFUSALS. */
export type KeyRefusal = (typeof KEY_REFUSALS)[number]

/** Whether a key works. */
export type KeyVerdict =
  | {
      readonly ok: true
      /** Epoch milliseconds: the earliest end of it and of the keys that own it; null = never. */
      readonly expiresMs: number | null
      /** Its own, or that of the nearest owner that has one; null = none of them has (contract 11.8). */
      readonly scope: Scope | null
    }
  | { readonly ok: false; readonly because: KeyRefusal }

/** The keys that one is judged among. */
export interface KnownKeys {
  readonly named: (name: string) => AccessKey | undefined
  /** All whose secret has this SHA-256, in hex. */
  readonly sharing: (digest: string) => readonly AccessKey[]
}

/** Judged where no key was found, so that every refusal goes the same way and takes as long (threat C1). */
export const NOBODY: AccessKey = accessKeyOf(
  {
    apiVersion: API_VERSION,
    kind: ACCESS_KEYS.kind,
    metadata: { name: '', uid: '', resourceVersion: '', creationTimestamp: '' },
    spec: { key: 'nobody' },
  },
  () => '0'.repeat(64),
)

/** Keys may own keys that own keys; a longer line of them is taken for a circle, and nothing works. */
export const LONGEST_LINE = 16

/**
 * The verdict on a key, and on each that owns it, by name and uid: a key never grants more than one that
 * owns it, also where that was given less since. That it has expired is said only where nothing else is
 * wrong, since callers are told.
 */
export function verdictOn(key: AccessKey, known: KnownKeys, caps: Caps, nowMs: number): KeyVerdict {
  let expiresMs: number | null = null
  let { scope } = key
  let one = key
  for (let place = 1; place <= LONGEST_LINE; place += 1) {
    const because = refusalOf(one, known)
    if (because !== null) return { ok: false, because: one === key ? because : 'owner' }
    if (!isCovered(scope, one.scope)) break
    scope ??= one.scope
    expiresMs = least(expiresMs, lifetimeOf(one, caps, nowMs).expiresMs)
    if (one.ownerRef === null)
      return isLive(expiresMs, nowMs)
        ? { ok: true, expiresMs, scope }
        : { ok: false, because: 'expired' }
    const owner = known.named(one.ownerRef.name)
    if (owner?.uid !== one.ownerRef.uid) break
    one = owner
  }
  return { ok: false, because: 'owner' }
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

/** Secrets for one purpose: as a bearer they are unknown. */
const OTHER_PURPOSES: ReadonlySet<string> = new Set(['OIDCRefreshToken', 'Reset'])

/** What is wrong with this key alone, whatever its lifetime; null when nothing is. */
function refusalOf(key: AccessKey, known: KnownKeys): KeyRefusal | null {
  const checks: readonly (readonly [KeyRefusal, boolean])[] = [
    ['unknown', key === NOBODY],
    ['deleted', key.isDeleting],
    ['noIdentity', meaningOf(key).identity === null],
    ['purpose', OTHER_PURPOSES.has(key.type)],
    ['conflict', hasElder(key, known)],
    ['disabled', key.isDisabled],
  ]
  return checks.find(([, holds]) => holds)?.[0] ?? null
}

/** An elder with the same secret wins, whatever its state (contract 3.3). */
function hasElder(key: AccessKey, known: KnownKeys): boolean {
  if (key.digest === null) return false
  return eldestOf([key, ...known.sharing(key.digest)])?.uid !== key.uid
}
