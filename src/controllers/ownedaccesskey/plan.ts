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
import { formatTimestamp, parseTimestamp } from '../../domain/time.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import { type DesiredKeyStatus, type KeySnapshot, isPublished, statusOf } from './status.ts'

/** What the plan stands on besides the key. */
export interface KeyCircumstances {
  readonly caps: Caps
  readonly configName: string
  /** How long an expired key stays, in milliseconds (`--expired-retention`). */
  readonly retentionMs: number
  /** The objects with the same key that keep it from working; null = none do. */
  readonly conflict: KeyConflict | null
  /** Which key that owns it makes it useless, and how, as a clause; null = none does. */
  readonly ownerFault: string | null
  /** Why its tokens could not be recorded as revoked the last time; null = nothing failed (5.1). */
  readonly tokensFault: string | null
  readonly nowMs: number
}

/** A change of a key that an event reports. */
export type KeyTransition = TransitionEvent<
  Extract<EventReason, 'KeyGenerated' | 'Expired' | 'KeyConflict' | 'ActivityIgnored'>
>

/** The next step for a key. `wakeMs` is when to look again; null = when something changes. */
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
 * What a key needs next (contract 2, 3.1, 4.1, 5.1, 5.2). An object being deleted is let go first
 * of all: its credential is refused by everybody from the moment of its deletionTimestamp.
 */
export function plan(key: AccessKey, circumstances: KeyCircumstances): KeyStep {
  const isHeld = key.finalizers.includes(REVOKE_FINALIZER)
  const isStuck = circumstances.tokensFault !== null
  if (key.isDeleting && isHeld && !isStuck) return { kind: 'release' }
  if (key.isDeleting && key.finalizers.length === 0) return { kind: 'nothing' }
  const isAdopted = isHeld && key.firstSeenMs !== null && key.digest !== null
  if (!key.isDeleting && !isAdopted && !isHeartbeatKey(key)) {
    return {
      kind: 'adopt',
      createdAt: formatTimestamp(Math.min(key.creationMs, key.firstSeenMs ?? key.creationMs)),
    }
  }
  const found = foundOf(key, circumstances)
  const status = statusOf(found)
  const wakeMs = wakeMsOf(found)
  if (!isPublished(status, key.published))
    return { kind: 'publish', status, announce: announcementsOf(found, status), wakeMs }
  if (key.isDeleting && isHeld) return { kind: 'release' }
  if (isOverdue(found)) return { kind: 'delete' }
  return wakeMs === null ? { kind: 'nothing' } : { kind: 'wait', wakeMs }
}

/** A gateway makes its heartbeat again as long as it runs: nothing is won by an end. */
const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: null }

function foundOf(key: AccessKey, circumstances: KeyCircumstances): KeySnapshot {
  const { retentionMs, ...known } = circumstances
  const { conflict, nowMs } = known
  const caps = isHeartbeatKey(key) ? NO_CAPS : known.caps
  const lifetime = lifetimeOf(key, caps, nowMs)
  const own = keyStateOf(key, lifetime, conflict !== null, nowMs)
  const state = own === 'Active' && known.ownerFault !== null ? 'OwnerNotReady' : own
  const isLeft = key.isDeleting || isLive(lifetime.expiresMs, nowMs)
  const removalMs = isLeft ? null : deletionMsOf(key, lifetime, retentionMs, nowMs)
  return { ...known, caps, key, state, lifetime, removalMs }
}

const isOverdue = ({ removalMs, nowMs }: KeySnapshot): boolean =>
  removalMs !== null && nowMs >= removalMs

/** When the answer changes by itself: the key's end, then its removal; or an ignored use counts. */
function wakeMsOf({ key, lifetime, removalMs, nowMs }: KeySnapshot): number | null {
  if (key.isDeleting) return null
  const nextMs = isLive(lifetime.expiresMs, nowMs) ? lifetime.expiresMs : removalMs
  return earliest(nextMs, lifetime.activityIgnoredUntilMs)
}

function announcementsOf(found: KeySnapshot, status: DesiredKeyStatus): readonly KeyTransition[] {
  const { key, lifetime, state } = found
  const ready = findCondition(status.conditions, 'Ready')
  const before = findCondition(key.published.conditions, 'Ready')
  const note = ready?.message ?? ''
  const isNew = state !== before?.reason
  return [
    ...(state === 'Expired' && isNew
      ? [{ reason: 'Expired', note, of: status.expirationTimestamp ?? '' } as const]
      : []),
    ...(state === 'KeyConflict' && isNew
      ? [{ reason: 'KeyConflict', note, of: found.conflict?.names[0] ?? '' } as const]
      : []),
    ...(lifetime.activityIgnoredUntilMs !== null
      ? [{ reason: 'ActivityIgnored', note, of: String(key.lastActivityMs) } as const]
      : []),
  ]
}

/**
 * When an expired key is deleted, in epoch milliseconds; null = it is kept (contract 5.2).
 *
 * The annotation decides first, then a GitOps tool, which would recreate a deleted key. A key that
 * the cap ended is kept for the whole retention from the moment that was first seen, which is why
 * the published removal is looked at: a cap lowered by mistake may have ended it days ago.
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
    return promisedMs(key, expiresMs) ?? wholeSecond(Math.max(expiresMs, nowMs) + retentionMs)
  if (key.onExpiry === 'Delete' || key.type === 'Login') return expiresMs
  return expiresMs + retentionMs
}

/** People read this time: no fraction, and none too early. */
const wholeSecond = (atMs: number): number => Math.ceil(atMs / 1000) * 1000

/** What status promises already, if it speaks of the same end. */
function promisedMs({ published }: AccessKey, expiresMs: number): number | null {
  if (published.expirationTimestamp !== formatTimestamp(expiresMs)) return null
  return parseTimestamp(published.removalTimestamp)
}
