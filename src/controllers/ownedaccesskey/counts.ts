import { type AccessKey, isHeartbeat } from '../../domain/access-key.ts'
import type { KeyState } from '../../domain/access-key-state.ts'
import { conditionOf } from '../../domain/conditions.ts'
import { type Late, NONE_LATE, withLate } from '../../domain/late.ts'
import { readyStateOf, standingOf } from '../../domain/key-line.ts'
import { type Caps, lifetimeOf } from '../../domain/lifetime.ts'
import type { Store } from '../../kube/store.ts'
import { keysIn } from './order.ts'

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
  readonly overdue: Late
}

/** Counts the keys as they are now, but for the heartbeat (contract 10.4), by the same functions that decide on each. */
export function countKeys(keys: Store<AccessKey>, caps: Caps, nowMs: number): KeyCounts {
  const among = keysIn(keys)
  const byState: Record<string, number> = {}
  let capped = 0
  let overdue = NONE_LATE
  for (const key of keys.values()) {
    if (isHeartbeat(key)) continue
    const lifetime = lifetimeOf(key, caps, nowMs)
    const state = readyStateOf(standingOf(key, among, caps, nowMs))
    const label = KEY_STATE_LABELS[state]
    byState[label] = (byState[label] ?? 0) + 1
    if (lifetime.capped) capped += 1
    const isTold = conditionOf(key.published.conditions, 'Ready')?.reason === state
    if (state === 'Expired' && !isTold)
      overdue = withLate(overdue, nowMs - (lifetime.expiresMs ?? nowMs))
  }
  return { byState, capped, overdue }
}

/** The keys that end, and when, in epoch milliseconds. */
export function* keyEnds(
  keys: Store<AccessKey>,
  caps: Caps,
  nowMs: number,
): Generator<readonly [string, number]> {
  for (const key of keys.values()) {
    if (isHeartbeat(key)) continue
    const { expiresMs } = lifetimeOf(key, caps, nowMs)
    if (expiresMs !== null) yield [key.name, expiresMs]
  }
}
