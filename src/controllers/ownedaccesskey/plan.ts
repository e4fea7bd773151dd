import { REVOKE_FINALIZER } from '../../api/names.ts'
import type { EventReason } from '../../api/reasons.ts'
import { type AccessKey, isHeartbeatKey } from '../../domain/accesskey/access-key.ts'
import { type KeyConflict, keyStateOf } from '../../domain/accesskey/key-state.ts'
import { type Caps, earliest, isLive, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import { findCondition } from '../../domain/conditions.ts'
import { staleAtMs } from '../../domain/people/people.ts'
import { formatSecond, formatTimestamp } from '../../domain/time.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import {
  type IdentityChange,
  type ReportedIdentity,
  awaitedRefreshMs,
  identityChangeOf,
} from './identity-change.ts'
import type { KeyIdentityFault } from './identity-fault.ts'
import { deletionMsOf } from './retention.ts'
import { type DesiredKeyStatus, type KeySnapshot, isPublished, statusOf } from './status.ts'

/** The input of the plan besides the key. */
export interface KeyPlanInput {
  readonly caps: Caps
  readonly configName: string
  /** How long an expired key stays, in milliseconds (`--expired-retention`). */
  readonly retentionMs: number
  /** Other objects with the same key, because of which this one does not work; null = no conflict. */
  readonly conflict: KeyConflict | null
  /** Why its person or team keeps it from working; null = it does not. */
  readonly identityFault: KeyIdentityFault | null
  /** Why an owning key keeps this one from working, as a clause; null = none does. */
  readonly ownerFault: string | null
  /** Whether it is a Login key beyond those that its user keeps (contract 5.1). */
  readonly isSurplusLogin: boolean
  /** What the sign-in process reports of its person; null = nothing. */
  readonly report: ReportedIdentity | null
  /** Why the last attempt to record its tokens as revoked failed (contract 5.1); null = it did not fail. */
  readonly tokensFault: string | null
  readonly nowMs: number
}

/** A change of a key that an event reports. */
export type KeyTransition = TransitionEvent<
  Extract<EventReason, 'KeyGenerated' | 'Expired' | 'KeyConflict' | 'ActivityIgnored'>
>

/** The next step for a key. `wakeMs` is the time of the next reconcile; null = only after a change. */
export type KeyStep =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly wakeMs: number }
  | { readonly kind: 'adopt'; readonly createdAt: string }
  | { readonly kind: 'record'; readonly change: IdentityChange }
  | {
      readonly kind: 'publish'
      readonly status: DesiredKeyStatus
      readonly announce: readonly KeyTransition[]
      readonly wakeMs: number | null
    }
  | { readonly kind: 'delete'; readonly because: 'expired' | 'surplus' }
  | { readonly kind: 'release' }

/**
 * The next step for a key (contract 2, 3.1, 4.1, 5.1, 5.2): the first that answers. The release of a deleted object
 * comes first: every gateway refuses its credential from its deletionTimestamp on.
 */
export function plan(key: AccessKey, input: KeyPlanInput): KeyStep {
  const snapshot = snapshotOf(key, input)
  for (const step of STEPS) {
    const answer = step(snapshot, input)
    if (answer !== null) return answer
  }
  return { kind: 'nothing' }
}

/** One step: null = it does not apply. */
type KeyPlanStep = (snapshot: KeySnapshot, input: KeyPlanInput) => KeyStep | null

const STEPS: readonly KeyPlanStep[] = [
  publishRevocationFault,
  release,
  ignoreDeleted,
  adopt,
  awaitClaim,
  deleteSurplusLogin,
  recordIdentity,
  deleteEndedOfClaim,
  publishStatus,
  deleteOverdue,
  awaitChange,
]

const hasFinalizer = ({ finalizers }: AccessKey): boolean => finalizers.includes(REVOKE_FINALIZER)

/** While its tokens can't be recorded as revoked, a deleted key says so before each further attempt. */
function publishRevocationFault(snapshot: KeySnapshot, input: KeyPlanInput): KeyStep | null {
  const { isDeleting } = snapshot.key
  const isFailing = isDeleting && hasFinalizer(snapshot.key) && input.tokensFault !== null
  return isFailing ? publishStatus(snapshot, input) : null
}

function release({ key }: KeySnapshot): KeyStep | null {
  return key.isDeleting && hasFinalizer(key) ? { kind: 'release' } : null
}

function ignoreDeleted({ key }: KeySnapshot): KeyStep | null {
  return key.isDeleting && key.finalizers.length === 0 ? { kind: 'nothing' } : null
}

function adopt({ key }: KeySnapshot): KeyStep | null {
  const isAdopted = hasFinalizer(key) && key.firstSeenMs !== null && key.digest !== null
  if (key.isDeleting || isAdopted || isHeartbeatKey(key)) return null
  const createdMs = Math.min(key.creationMs, key.firstSeenMs ?? key.creationMs)
  return { kind: 'adopt', createdAt: formatTimestamp(createdMs) }
}

/** How long a gateway needs at most from the creation of a key to its claim of fields, in milliseconds. */
const CLAIM_WITHIN_MS = 3000

/**
 * A key that a gateway has just created waits for the gateway's second write, which would conflict with a status
 * written between the two. A key created by a clock ahead of ours does not wait.
 */
function awaitClaim({ key, nowMs }: KeySnapshot): KeyStep | null {
  if (key.isDeleting || !key.isUnclaimed || key.firstSeenMs === null) return null
  const wakeMs = key.firstSeenMs + CLAIM_WITHIN_MS
  return nowMs >= key.firstSeenMs && nowMs < wakeMs ? { kind: 'wait', wakeMs } : null
}

function deleteSurplusLogin(
  { key }: KeySnapshot,
  { isSurplusLogin }: KeyPlanInput,
): KeyStep | null {
  return isSurplusLogin && !key.isDeleting ? { kind: 'delete', because: 'surplus' } : null
}

/** Whatever `disabled` says, and also after its end (contract 25.7). The heartbeat key has no annotations to add to. */
function recordIdentity({ key, nowMs }: KeySnapshot, { report }: KeyPlanInput): KeyStep | null {
  const change = isHeartbeatKey(key) ? null : identityChangeOf(key, report, nowMs)
  return change === null ? null : { kind: 'record', change }
}

/** Without a write that says so: a claim replaces its keys all the time, and its status has what is delivered (28.8). */
function deleteEndedOfClaim(snapshot: KeySnapshot): KeyStep | null {
  return snapshot.key.isOfClaim ? deleteOverdue(snapshot) : null
}

function publishStatus(snapshot: KeySnapshot, input: KeyPlanInput): KeyStep | null {
  const status = statusOf(snapshot)
  if (isPublished(status, snapshot.key.published)) return null
  const announce = transitionsOf(snapshot, status)
  return { kind: 'publish', status, announce, wakeMs: wakeMsOf(snapshot, input) }
}

function deleteOverdue({ removalMs, nowMs }: KeySnapshot): KeyStep | null {
  return removalMs !== null && nowMs >= removalMs ? { kind: 'delete', because: 'expired' } : null
}

function awaitChange(snapshot: KeySnapshot, input: KeyPlanInput): KeyStep | null {
  const wakeMs = wakeMsOf(snapshot, input)
  return wakeMs === null ? null : { kind: 'wait', wakeMs }
}

/** Heartbeat keys never expire: a running gateway would only create them again. */
const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: null }

function snapshotOf(key: AccessKey, input: KeyPlanInput): KeySnapshot {
  const { retentionMs, isSurplusLogin: _, report: __, ...rest } = input
  const { conflict, identityFault, nowMs } = rest
  const caps = isHeartbeatKey(key) ? NO_CAPS : rest.caps
  const lifetime = lifetimeOf(key, caps, nowMs)
  const faults = { isInConflict: conflict !== null, identityFault: identityFault?.reason ?? null }
  const ownState = keyStateOf(key, lifetime, faults, nowMs)
  const state = ownState === 'Active' && rest.ownerFault !== null ? 'OwnerNotReady' : ownState
  const isKept = key.isDeleting || isLive(lifetime.expiresMs, nowMs)
  const removalMs = isKept ? null : deletionMsOf(key, lifetime, retentionMs, nowMs)
  const { expiresMs } = lifetime
  const expirationTimestamp = expiresMs === null ? null : formatSecond(expiresMs)
  return { ...rest, caps, key, state, lifetime, expirationTimestamp, removalMs }
}

/**
 * When to plan again without any event: at the key's end, at its removal, when an ignored use begins to count, when
 * its sign-in is not refreshed any more, or at a refresh that a clock ahead of ours reports.
 */
function wakeMsOf(
  { key, lifetime, removalMs, nowMs }: KeySnapshot,
  { report }: KeyPlanInput,
): number | null {
  if (key.isDeleting) return null
  const nextMs = isLive(lifetime.expiresMs, nowMs) ? lifetime.expiresMs : removalMs
  const staleMs = staleAtMs(key)
  const becomesStaleMs = staleMs !== null && nowMs < staleMs ? staleMs : null
  const refreshMs = awaitedRefreshMs(key, report, nowMs)
  return [lifetime.activityIgnoredUntilMs, becomesStaleMs, refreshMs].reduce(earliest, nextMs)
}

function transitionsOf(snapshot: KeySnapshot, status: DesiredKeyStatus): readonly KeyTransition[] {
  const { key, lifetime, state } = snapshot
  const ready = findCondition(status.conditions, 'Ready')
  const previousReady = findCondition(key.published.conditions, 'Ready')
  const note = ready?.message ?? ''
  const isNewState = state !== previousReady?.reason
  return [
    ...(state === 'Expired' && isNewState
      ? [{ reason: 'Expired', note, discriminator: status.expirationTimestamp ?? '' } as const]
      : []),
    ...(state === 'KeyConflict' && isNewState
      ? [{ reason: 'KeyConflict', note, discriminator: snapshot.conflict?.names[0] ?? '' } as const]
      : []),
    ...(lifetime.activityIgnoredUntilMs !== null
      ? [{ reason: 'ActivityIgnored', note, discriminator: String(key.lastActivityMs) } as const]
      : []),
  ]
}
