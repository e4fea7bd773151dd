// Whether a key is valid at the moment of a request (contract 10.3): from its own fields, its owners, the other keys
// with its secret, the person or team it acts as, and the caps. The status that the operator wrote does not count.
import { ACCESS_KEYS, API_VERSION } from '../api/names.ts'
import type { Scope } from '../api/scope.gen.ts'
import { type AccessKey, accessKeyOf, isBearerType } from '../domain/accesskey/access-key.ts'
import { type Caps, isLive } from '../domain/accesskey/lifetime.ts'
import {
  chainBoundsOf,
  hasKeyConflict,
  type KeyLookup,
  ownerChainOf,
} from '../domain/accesskey/owner-chain.ts'
import { type IdentityFault, identityFaultOf } from '../domain/people/people.ts'
import { identityAndScopeOf } from './caller.ts'

/** Why a key is invalid, for logs and metrics; responses to callers say less (contract 10.2). */
export const INVALID_KEY_REASONS = [
  'unknown',
  'deleted',
  'noIdentity',
  'purpose',
  'conflict',
  'userDisabled',
  'teamGone',
  'identityGone',
  'identityStale',
  'signInAgain',
  'disabled',
  'owner',
  'expired',
] as const

/** One of INVALID_KEY_REASONS. */
export type InvalidKeyReason = (typeof INVALID_KEY_REASONS)[number]

/** Whether a key is valid, with its limits or the reason. */
type KeyValidity =
  | {
      readonly ok: true
      /** The earliest expiry of the key and its owners, in epoch milliseconds; null = never. */
      readonly expiresMs: number | null
      /** Scope of the key, else of the nearest owner with one; null = none has (contract 11.8). */
      readonly scope: Scope | null
      /** When it or an owner becomes stale, in epoch milliseconds, unless it is refreshed; null = never (24.5). */
      readonly staleMs: number | null
    }
  | { readonly ok: false; readonly because: InvalidKeyReason }

/** Stands for a key that was not found, so that every refusal takes the same steps and the same time (10.2). */
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
 * Checks a key and its owners, which are looked up by name and uid. A key never grants more than its owners, even if an
 * owner was narrowed later. Callers see the reason `expired`, so it is given only if nothing else is wrong.
 */
export function checkKey(
  key: AccessKey,
  lookup: KeyLookup,
  caps: Caps,
  nowMs: number,
): KeyValidity {
  const reason = invalidReasonOf(key, lookup, nowMs)
  if (reason !== null) return { ok: false, because: reason }
  const { keys, brokenAt } = ownerChainOf(key, lookup)
  const { expiresMs, scope, exceeded, staleMs } = chainBoundsOf(keys, caps, nowMs)
  const isOwnerInvalid =
    brokenAt !== null ||
    exceeded !== null ||
    keys.slice(1).some((owner) => invalidReasonOf(owner, lookup, nowMs) !== null)
  if (isOwnerInvalid) return { ok: false, because: 'owner' }
  return isLive(expiresMs, nowMs)
    ? { ok: true, expiresMs, scope, staleMs }
    : { ok: false, because: 'expired' }
}

/**
 * Why this key is invalid, apart from its lifetime and owners; null = it is valid. All checks run in any case, so
 * that the time does not reveal the reason.
 */
function invalidReasonOf(
  key: AccessKey,
  lookup: KeyLookup,
  nowMs: number,
): InvalidKeyReason | null {
  const hasIdentity = identityAndScopeOf(key).identity !== null
  const isNoBearer = !isBearerType(key.type)
  const hasConflict = hasKeyConflict(key, lookup)
  const identityFault = identityFaultOf(key, lookup.people, nowMs)
  if (key === UNKNOWN_KEY) return 'unknown'
  if (key.isDeleting) return 'deleted'
  if (!hasIdentity) return 'noIdentity'
  if (isNoBearer) return 'purpose'
  if (hasConflict) return 'conflict'
  if (identityFault !== null) return FAULT_REASONS[identityFault]
  return key.isDisabled ? 'disabled' : null
}

const FAULT_REASONS: Readonly<Record<IdentityFault, InvalidKeyReason>> = {
  UserDisabled: 'userDisabled',
  TeamGone: 'teamGone',
  IdentityGone: 'identityGone',
  IdentityStale: 'identityStale',
  SignInAgain: 'signInAgain',
}
