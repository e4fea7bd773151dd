import { type EventReason, REVOKE_FINALIZER } from '../../api/names.ts'
import { type AccessKey, isHeartbeatKey } from '../../domain/accesskey/access-key.ts'
import { type KeyConflict, keyStateOf } from '../../domain/accesskey/key-state.ts'
import {
  type Caps,
  type Lifetime,
  earliest,
  isLive,
  lifetimeOf,
} from '../../domain/accesskey/lifetime.ts'
import { findCondition } from '../../domain/conditions.ts'
import { formatSecond, formatTimestamp, parseTimestamp } from '../../domain/time.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import { type DesiredKeyStatus, type KeySnapshot, isPublished, statusOf } from './status.ts'

/** The input of the plan besides the key. */
export interface KeyPlanInput {
  readonly caps: Caps
  readonly configName: string
  /** How long an expired key stays, in milliseconds (`--expired-retention`). */
  readonly retentionMs: number
  /** Other objects with the same key, because of which this one does not work; null = no conflict. */
  readonly conflict: KeyConflict | null
  /** Why an owning key keeps this one from working, as a clause; null = none does. */
  readonly ownerFault: string | null
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
  | {
      readonly kind: 'publish'
      readonly status: DesiredKeyStatus
      readonly announce: readonly KeyTransition[]
      readonly wakeMs: number | null
    }
  | { readonly kind: 'delete' }
  | { readonly kind: 'release' }

/**
 * The next step for a key (contract 2, 3.1, 4.1, 5.1, 5.2). The release of a deleted object comes first: every
 * gateway refuses its credential from its deletionTimestamp on.
 */
export function plan(key: AccessKey, input: KeyPlanInput): KeyStep {
  const hasFinalizer = key.finalizers.includes(REVOKE_FINALIZER)
  const isRevocationFailing = input.tokensFault !== null
  if (key.isDeleting && hasFinalizer && !isRevocationFailing) return { kind: 'release' }
  if (key.isDeleting && key.finalizers.length === 0) return { kind: 'nothing' }
  const isAdopted = hasFinalizer && key.firstSeenMs !== null && key.digest !== null
  if (!key.isDeleting && !isAdopted && !isHeartbeatKey(key)) {
    return {
      kind: 'adopt',
      createdAt: formatTimestamp(Math.min(key.creationMs, key.firstSeenMs ?? key.creationMs)),
    }
  }
  const claimedByMs = claimedBy(key, input.nowMs)
  if (claimedByMs !== null) return { kind: 'wait', wakeMs: claimedByMs }
  const snapshot = snapshotOf(key, input)
  const status = statusOf(snapshot)
  const wakeMs = wakeMsOf(snapshot)
  if (!isPublished(status, key.published))
    return { kind: 'publish', status, announce: transitionsOf(snapshot, status), wakeMs }
  if (key.isDeleting && hasFinalizer) return { kind: 'release' }
  if (isOverdue(snapshot)) return { kind: 'delete' }
  return wakeMs === null ? { kind: 'nothing' } : { kind: 'wait', wakeMs }
}

/** More than a gateway takes from the creation of a key to its claim of fields, in milliseconds. */
const CLAIM_WITHIN_MS = 3000

/**
 * Until when a key that a gateway has just created waits for the gateway's second write, which a status that is
 * written between the two would meet as a conflict; null = it does not wait. One of a clock ahead does not.
 */
function claimedBy(key: AccessKey, nowMs: number): number | null {
  if (key.isDeleting || !key.isUnclaimed || key.firstSeenMs === null) return null
  const byMs = key.firstSeenMs + CLAIM_WITHIN_MS
  return nowMs >= key.firstSeenMs && nowMs < byMs ? byMs : null
}

/** Heartbeat keys never expire: a running gateway would only create them again. */
const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: null }

function snapshotOf(key: AccessKey, input: KeyPlanInput): KeySnapshot {
  const { retentionMs, ...rest } = input
  const { conflict, nowMs } = rest
  const caps = isHeartbeatKey(key) ? NO_CAPS : rest.caps
  const lifetime = lifetimeOf(key, caps, nowMs)
  const ownState = keyStateOf(key, lifetime, conflict !== null, nowMs)
  const state = ownState === 'Active' && rest.ownerFault !== null ? 'OwnerNotReady' : ownState
  const isKept = key.isDeleting || isLive(lifetime.expiresMs, nowMs)
  const removalMs = isKept ? null : deletionMsOf(key, lifetime, retentionMs, nowMs)
  return { ...rest, caps, key, state, lifetime, removalMs }
}

const isOverdue = ({ removalMs, nowMs }: KeySnapshot): boolean =>
  removalMs !== null && nowMs >= removalMs

/** When to plan again without any event: at the key's end, at its removal, or when an ignored use begins to count. */
function wakeMsOf({ key, lifetime, removalMs, nowMs }: KeySnapshot): number | null {
  if (key.isDeleting) return null
  const nextMs = isLive(lifetime.expiresMs, nowMs) ? lifetime.expiresMs : removalMs
  return earliest(nextMs, lifetime.activityIgnoredUntilMs)
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

/**
 * When an expired key is deleted, in epoch milliseconds; null = it is kept (contract 5.2).
 *
 * The annotation takes precedence, then the label of a GitOps tool, which would recreate a deleted key. A key that
 * the cap ended stays for the whole retention after the expiry was first seen, as published in status: a cap lowered
 * by mistake may have ended it days ago.
 */
export function deletionMsOf(
  key: AccessKey,
  lifetime: Lifetime,
  retentionMs: number,
  nowMs: number,
): number | null {
  const { expiresMs } = lifetime
  if (expiresMs === null || key.onExpiry === 'Keep') return null
  if (key.isTracked && key.onExpiry !== 'Delete') return null
  if (lifetime.capped)
    return (
      publishedRemovalMs(key, expiresMs) ?? wholeSecond(Math.max(expiresMs, nowMs) + retentionMs)
    )
  if (key.onExpiry === 'Delete' || key.type === 'Login') return expiresMs
  return expiresMs + retentionMs
}

/** Rounds up to a whole second, as the time is shown in status and must not be too early. */
const wholeSecond = (atMs: number): number => Math.ceil(atMs / 1000) * 1000

/** The removal time in status, if it was published for the same expiry; else null. */
function publishedRemovalMs({ published }: AccessKey, expiresMs: number): number | null {
  const publishedMs = parseTimestamp(published.expirationTimestamp)
  if (publishedMs === null || formatSecond(publishedMs) !== formatSecond(expiresMs)) return null
  return parseTimestamp(published.removalTimestamp)
}
