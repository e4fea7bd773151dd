import type { Condition } from '../../api/objects.ts'
import type { OwnedAccessKeyStatus } from '../../api/ownedaccesskey.gen.ts'
import {
  type AccessKey,
  type PublishedKeyStatus,
  isHeartbeatKey,
  keyIdOf,
} from '../../domain/accesskey/access-key.ts'
import type { KeyState, KeyConflict } from '../../domain/accesskey/key-state.ts'
import type { Caps, Lifetime } from '../../domain/accesskey/lifetime.ts'
import {
  type DesiredCondition,
  sameConditions,
  stalledCondition,
  withTransitionTimes,
} from '../../domain/conditions.ts'
import { formatTimestamp } from '../../domain/time.ts'

/** Everything that is known about a key at one moment; the plan and its status follow from it. */
export interface KeySnapshot {
  readonly key: AccessKey
  readonly state: KeyState
  readonly lifetime: Lifetime
  readonly caps: Caps
  /** The objects with the same key that keep it from working; null = none do. */
  readonly conflict: KeyConflict | null
  /** Which key that owns it makes it useless, and how, as a clause; null = none does. */
  readonly ownerFault: string | null
  /** When the expired key is to be deleted; null = it is live, is kept, or is being deleted. */
  readonly removalMs: number | null
  /** Name of the Config whose cap binds, for messages. */
  readonly configName: string
  /** Why a deleted key's tokens could not be recorded as revoked; null = nothing failed. */
  readonly tokensFault: string | null
  readonly nowMs: number
}

/** The status to publish: all of it but lastActivity, which is the gateway's (contract 1.5, 3.4). */
export type DesiredKeyStatus = Omit<OwnedAccessKeyStatus, 'lastActivity'> & {
  readonly conditions: readonly Condition[]
}

/** What status says of what was found. */
export function statusOf(found: KeySnapshot): DesiredKeyStatus {
  const { key, lifetime, removalMs, nowMs } = found
  const { expiresMs, effectiveSeconds } = lifetime
  return {
    ...(expiresMs === null ? {} : { expirationTimestamp: formatTimestamp(expiresMs) }),
    ...(removalMs === null ? {} : { removalTimestamp: formatTimestamp(removalMs) }),
    ...(effectiveSeconds === null ? {} : { effectiveTTLSeconds: effectiveSeconds }),
    ...(key.digest === null ? {} : { keyID: keyIdOf(key) }),
    ...(key.identity === null ? {} : { identity: key.identity }),
    observedGeneration: key.generation,
    conditions: withTransitionTimes(
      verdictsOf(found),
      key.published.conditions,
      key.generation,
      nowMs,
    ),
  }
}

/** Whether status says this already. */
export function isPublished(wanted: DesiredKeyStatus, published: PublishedKeyStatus): boolean {
  return (
    wanted.expirationTimestamp === published.expirationTimestamp &&
    wanted.removalTimestamp === published.removalTimestamp &&
    wanted.effectiveTTLSeconds === published.effectiveTTLSeconds &&
    wanted.keyID === published.keyID &&
    wanted.identity === published.identity &&
    wanted.observedGeneration === published.observedGeneration &&
    sameConditions(wanted.conditions, published.conditions)
  )
}

/** States that end only by an edit or by another cap. */
const STALLED: ReadonlySet<KeyState> = new Set(['NoIdentity', 'KeyConflict', 'Expired', 'Disabled'])

function verdictsOf(found: KeySnapshot): readonly DesiredCondition[] {
  const { state, lifetime } = found
  const message = messageOf(found)
  const ready = {
    type: 'Ready',
    status: state === 'Active' ? 'True' : 'False',
    reason: state,
    message,
  } as const
  return [
    ready,
    ...(STALLED.has(state) ? [stalledCondition(ready)] : []),
    ...(lifetime.capped ? [cappedVerdict(found)] : []),
  ]
}

function cappedVerdict({ lifetime, caps, configName }: KeySnapshot): DesiredCondition {
  const own =
    lifetime.ownSeconds === null
      ? 'no lifetime of its own'
      : `a lifetime of ${lifetime.ownSeconds} s`
  const message = `The key has ${own}; accessKeyMaxTTLSeconds of Config ${configName} ends it ${caps.maxTtlSeconds} s after its creation.`
  return { type: 'LifetimeCapped', status: 'True', reason: 'CappedByConfig', message }
}

function messageOf(found: KeySnapshot): string {
  const { lifetime } = found
  const isIgnored = lifetime.activityIgnoredUntilMs !== null
  const ignored = ' Its recorded last use lies more than 60 s in the future and is ignored.'
  return SENTENCES[found.state](found) + (isIgnored ? ignored : '')
}

const HEARTBEAT_SENTENCE =
  'The key opens nothing and never ends: gateways write to it to test that their watch of the keys is current.'

const SENTENCES: Readonly<Record<KeyState, (found: KeySnapshot) => string>> = {
  Active: (found) => {
    if (isHeartbeatKey(found.key)) return HEARTBEAT_SENTENCE
    return found.lifetime.expiresMs === null
      ? 'The key works and never expires.'
      : `The key works until ${formatTimestamp(found.lifetime.expiresMs)}, ${sinceWhat(found)}.`
  },
  Terminating: ({ tokensFault }) =>
    tokensFault === null
      ? 'The key is being deleted and no longer works.'
      : `The key is being deleted and no longer works. It stays until its tokens are recorded as revoked, which failed: ${tokensFault}.`,
  NoIdentity: () =>
    'The key names no user, team or subject and does not work: set one of spec.user, spec.team and spec.subject.',
  KeyConflict: ({ conflict }) =>
    conflict?.kind === 'unproven'
      ? `${listed(conflict.names)} have the same key, and the oldest holds only its digest, which does not prove that its author knew the key. None of them works: delete all but the one that is to have it.`
      : `${conflict?.names[0]} has the same key and is older: this object does not work; delete one of the two.`,
  Expired: (found) =>
    `The key expired ${formatTimestamp(found.lifetime.expiresMs ?? 0)}, ${sinceWhat(found)}; ${fateOf(found)}.`,
  Disabled: () => 'The key is disabled and does not work: remove spec.disabled to enable it.',
  OwnerNotReady: ({ ownerFault }) => `The key does not work, because ${ownerFault}.`,
}

const MOST_NAMES = 10

/** Not more names than a person reads, or an event holds. */
function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMES
  return names.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function sinceWhat({ lifetime, caps, key }: KeySnapshot): string {
  const { startMs, expiresMs, activityMs, effectiveSeconds } = lifetime
  const isCapOnAge =
    caps.maxTtlSeconds !== null && expiresMs === startMs + caps.maxTtlSeconds * 1000
  const isUsed = key.slides && (activityMs ?? startMs) > startMs
  if (isCapOnAge || !isUsed)
    return `${isCapOnAge ? caps.maxTtlSeconds : effectiveSeconds} s after its creation`
  return `${effectiveSeconds} s after its last use`
}

function fateOf({ removalMs, key, lifetime }: KeySnapshot): string {
  if (removalMs !== null && removalMs === lifetime.expiresMs) return 'it is deleted at once'
  if (removalMs !== null) return `it is deleted ${formatTimestamp(removalMs)}`
  return key.onExpiry === 'Keep'
    ? 'it is kept, as its annotation asks'
    : 'it is kept, because a GitOps tool applies it'
}
