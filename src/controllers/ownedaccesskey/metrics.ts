import type { MetricName } from '../../api/metrics.ts'
import { type AccessKey, isHeartbeatKey } from '../../domain/accesskey/access-key.ts'
import type { KeyState } from '../../domain/accesskey/key-state.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import { chainStatusOf, readyReasonOf } from '../../domain/accesskey/owner-chain.ts'
import { findCondition } from '../../domain/conditions.ts'
import type { People } from '../../domain/people/people.ts'
import { NOTHING_OVERDUE, addOverdue } from '../../domain/time.ts'
import type { ObjectCounts } from '../../kube/controller/definition.ts'
import type { Store } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYielding } from '../../runtime/concurrency/event-loop.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import { keysIn } from '../indexes/access-keys.ts'

/** Label values of platform_access_keys{state} (contract 8.4). */
export const KEY_STATE_LABELS: Readonly<Record<KeyState, string>> = {
  Active: 'active',
  Expired: 'expired',
  Disabled: 'disabled',
  NoIdentity: 'no_identity',
  KeyConflict: 'key_conflict',
  UserDisabled: 'user_disabled',
  TeamGone: 'team_gone',
  IdentityGone: 'identity_gone',
  IdentityStale: 'identity_stale',
  SignInAgain: 'sign_in_again',
  Terminating: 'terminating',
  OwnerNotReady: 'owner_not_ready',
}

/**
 * Counts the keys by their present state, computed as the controller does, without heartbeat keys (contract 10.4). An overdue
 * key is an expired one without reason Expired in status. It yields to the event loop; keys that change meanwhile may count with their former state.
 */
export async function countKeys(
  keys: Store<AccessKey>,
  people: People,
  caps: Caps,
  nowMs: number,
  eventLoop: EventLoopShare,
): Promise<ObjectCounts> {
  const among = keysIn(keys, people)
  const byState: Record<string, number> = {}
  let capped = 0
  let overdue = NOTHING_OVERDUE
  await forEachYielding(eventLoop, [...keys.values()], (key) => {
    if (isHeartbeatKey(key)) return
    const lifetime = lifetimeOf(key, caps, nowMs)
    const state = readyReasonOf(chainStatusOf(key, among, caps, nowMs))
    const label = KEY_STATE_LABELS[state]
    byState[label] = (byState[label] ?? 0) + 1
    if (lifetime.capped) capped += 1
    const isReported = findCondition(key.published.conditions, 'Ready')?.reason === state
    if (state === 'Expired' && !isReported)
      overdue = addOverdue(overdue, nowMs - (lifetime.expiresMs ?? nowMs))
  })
  return { byState, capped, overdue }
}

/** Reports name and expiry, in epoch milliseconds, of each key that expires. Yields to the event loop. */
export function exportKeyExpiry(
  keys: Store<AccessKey>,
  caps: Caps,
  nowMs: number,
  eventLoop: EventLoopShare,
  report: (name: string, atMs: number) => void,
): Promise<void> {
  return forEachYielding(eventLoop, [...keys.values()], (key) => {
    if (isHeartbeatKey(key)) return
    const { expiresMs } = lifetimeOf(key, caps, nowMs)
    if (expiresMs !== null) report(key.name, expiresMs)
  })
}

/** Source that is read at each scrape. */
export interface KeySources {
  /** Reports name and expiry, in epoch milliseconds, of each key that expires. Yields to the event loop. */
  readonly keyEnds: (report: (name: string, atMs: number) => void) => Promise<void>
}

/** Counts expirations of keys. */
export interface KeyMetrics {
  /** Call it when Expired was written to a key's status, `lagSeconds` after the expiry. */
  readonly keyExpired: (lagSeconds: number) => void
}

// Contract 2.7 promises one second; a lag of minutes means that no manager was running.
const LAG_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]

/** The metrics of access keys (contract 8.4). */
export function keyMetrics({ counter, histogram }: Instruments<MetricName>): KeyMetrics {
  const expirations = counter('platform_access_key_expirations_total', [{}])
  const lag = histogram('platform_expiration_lag_seconds', LAG_BUCKETS, [{}])
  return {
    keyExpired: (lagSeconds) => {
      expirations.inc()
      lag.observe(lagSeconds)
    },
  }
}

/** The series of all keys in text format. prom-client would write 100,000 lines in one turn of the event loop. */
export async function keyEndsText({ keyEnds }: KeySources): Promise<string> {
  const { name, help, label } = KEY_ENDS
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`]
  // JSON quotes a name as the text format requires.
  await keyEnds((key, atMs) =>
    lines.push(`${name}{${label}=${JSON.stringify(key)}} ${atMs / 1000}`),
  )
  return `${lines.join('\n')}\n`
}

const KEY_ENDS = {
  name: 'platform_access_key_expiration_timestamp_seconds',
  help: 'Unix time at which an access key expires, by name. A key that never expires has no series.',
  label: 'name',
}
