import { type AccessKey, isHeartbeatKey } from '../../domain/accesskey/access-key.ts'
import type { KeyState } from '../../domain/accesskey/key-state.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import { chainStatusOf, readyReasonOf } from '../../domain/accesskey/owner-chain.ts'
import { findCondition } from '../../domain/conditions.ts'
import { NOTHING_OVERDUE, type Overdue, addOverdue } from '../../domain/time.ts'
import type { Store } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYielding } from '../../runtime/concurrency/event-loop.ts'
import { keysIn } from './indexes.ts'

/** Label values of platform_access_keys{state} (contract 8.4). */
export const KEY_STATE_LABELS: Readonly<Record<KeyState, string>> = {
  Active: 'active',
  Expired: 'expired',
  Disabled: 'disabled',
  NoIdentity: 'no_identity',
  KeyConflict: 'key_conflict',
  Terminating: 'terminating',
  OwnerNotReady: 'owner_not_ready',
}

/** How many keys are in each state, how many the cap shortens, and whose end status does not tell. */
export interface KeyCounts {
  readonly byState: Readonly<Record<string, number>>
  readonly capped: number
  readonly overdue: Overdue
}

/**
 * Counts the keys as they are now, but for the heartbeat (contract 10.4), by the same functions that decide on
 * each. In many turns of the event loop: one that comes, changes or goes meanwhile counts as it was.
 */
export async function countKeys(
  keys: Store<AccessKey>,
  caps: Caps,
  nowMs: number,
  turns: EventLoopShare,
): Promise<KeyCounts> {
  const among = keysIn(keys)
  const byState: Record<string, number> = {}
  let capped = 0
  let overdue = NOTHING_OVERDUE
  await forEachYielding(turns, [...keys.values()], (key) => {
    if (isHeartbeatKey(key)) return
    const lifetime = lifetimeOf(key, caps, nowMs)
    const state = readyReasonOf(chainStatusOf(key, among, caps, nowMs))
    const label = KEY_STATE_LABELS[state]
    byState[label] = (byState[label] ?? 0) + 1
    if (lifetime.capped) capped += 1
    const isTold = findCondition(key.published.conditions, 'Ready')?.reason === state
    if (state === 'Expired' && !isTold)
      overdue = addOverdue(overdue, nowMs - (lifetime.expiresMs ?? nowMs))
  })
  return { byState, capped, overdue }
}

/** Tells the names of the keys that end, and when, in epoch milliseconds; in many turns, as they were. */
export function exportKeyExpiry(
  keys: Store<AccessKey>,
  caps: Caps,
  nowMs: number,
  turns: EventLoopShare,
  tell: (name: string, atMs: number) => void,
): Promise<void> {
  return forEachYielding(turns, [...keys.values()], (key) => {
    if (isHeartbeatKey(key)) return
    const { expiresMs } = lifetimeOf(key, caps, nowMs)
    if (expiresMs !== null) tell(key.name, expiresMs)
  })
}
