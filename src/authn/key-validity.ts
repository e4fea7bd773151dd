// Whether a key is valid at the moment of a request (contract 10.3): by its own fields, its owners, the keys with
// its secret and the caps. The status that the operator wrote is not used.
import { ACCESS_KEYS, API_VERSION } from '../api/names.ts'
import type { Scope } from '../api/scope.gen.ts'
import { type AccessKey, accessKeyOf } from '../domain/accesskey/access-key.ts'
import { type Caps, isLive } from '../domain/accesskey/lifetime.ts'
import {
  type KeyLookup,
  chainBoundsOf,
  hasKeyConflict,
  ownerChainOf,
} from '../domain/accesskey/owner-chain.ts'
import { identityAndScopeOf } from './caller.ts'

/** Why a key is invalid, for log and metrics; answers to callers say less (contract 10.2). */
export const INVALID_KEY_REASONS = [
  'unknown',
  'deleted',
  'noIdentity',
  'purpose',
  'conflict',
  'disabled',
  'owner',
  'expired',
] as const

/** One of INVALID_KEY_REASONS. */
export type InvalidKeyReason = (typeof INVALID_KEY_REASONS)[number]

/** Whether a key is valid. */
type KeyValidity =
  | {
      readonly ok: true
      /** Epoch milliseconds: the earliest end of it and of the keys that own it; null = never. */
      readonly expiresMs: number | null
      /** Its own scope, else that of the nearest owner that has one; null = none has (contract 11.8). */
      readonly scope: Scope | null
    }
  | { readonly ok: false; readonly because: InvalidKeyReason }

/** The result of a look-up that found no key: every refusal takes the same steps and the same time (threat C1). */
export const UNKNOWN_KEY: AccessKey = accessKeyOf(
  {
    apiVersion: API_VERSION,
    kind: ACCESS_KEYS.kind,
    metadata: { name: '', uid: '', resourceVersion: '', creationTimestamp: '' },
    spec: { key: 'nobody' },
  },
  () => '0'.repeat(64),
)

/**
 * Checks a key and its owners, which are looked up by name and uid: a key never grants more than an owner, also one
 * that was narrowed later. `expired` is the reason only where nothing else is wrong, because the caller sees it.
 */
export function checkKey(key: AccessKey, known: KeyLookup, caps: Caps, nowMs: number): KeyValidity {
  const reason = invalidReasonOf(key, known)
  if (reason !== null) return { ok: false, because: reason }
  const { keys, brokenAt } = ownerChainOf(key, known)
  const { expiresMs, scope, exceeded } = chainBoundsOf(keys, caps, nowMs)
  const isOwnerInvalid =
    brokenAt !== null ||
    exceeded !== null ||
    keys.slice(1).some((owner) => invalidReasonOf(owner, known) !== null)
  if (isOwnerInvalid) return { ok: false, because: 'owner' }
  return isLive(expiresMs, nowMs)
    ? { ok: true, expiresMs, scope }
    : { ok: false, because: 'expired' }
}

/** Types of secrets for one purpose: as a bearer token they count as unknown. */
const OTHER_PURPOSES: ReadonlySet<string> = new Set(['OIDCRefreshToken', 'Reset'])

/** Why this key alone is invalid, apart from its lifetime; null = it is valid. */
function invalidReasonOf(key: AccessKey, known: KeyLookup): InvalidKeyReason | null {
  const checks: readonly (readonly [InvalidKeyReason, boolean])[] = [
    ['unknown', key === UNKNOWN_KEY],
    ['deleted', key.isDeleting],
    ['noIdentity', identityAndScopeOf(key).identity === null],
    ['purpose', OTHER_PURPOSES.has(key.type)],
    ['conflict', hasKeyConflict(key, known)],
    ['disabled', key.isDisabled],
  ]
  return checks.find(([, holds]) => holds)?.[0] ?? null
}
