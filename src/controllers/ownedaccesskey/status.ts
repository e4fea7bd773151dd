import type { Condition } from '../../api/objects.ts'
import type { OwnedAccessKeyStatus } from '../../api/ownedaccesskey.gen.ts'
import {
  type AccessKey,
  type PublishedKeyStatus,
  isHeartbeatKey,
  keyIdOf,
  isBearerType,
} from '../../domain/accesskey/access-key.ts'
import type { KeyState, KeyConflict } from '../../domain/accesskey/key-state.ts'
import type { Caps, Lifetime } from '../../domain/accesskey/lifetime.ts'
import {
  type DesiredCondition,
  sameConditions,
  stalledCondition,
  withTransitionTimes,
} from '../../domain/conditions.ts'
import { formatSecond } from '../../domain/time.ts'
import type { KeyIdentityFault } from './identity-fault.ts'

/** A key with all facts that its plan and its status are computed from. */
export interface KeySnapshot {
  readonly key: AccessKey
  readonly state: KeyState
  readonly lifetime: Lifetime
  /** The end of its lifetime as its status says it; null = it never expires. */
  readonly expirationTimestamp: string | null
  readonly caps: Caps
  /** Other objects with the same key, because of which this one does not work; null = no conflict. */
  readonly conflict: KeyConflict | null
  /** Why its person or team keeps it from working; null = it does not. */
  readonly identityFault: KeyIdentityFault | null
  /** Why an owning key keeps this one from working, as a clause; null = none does. */
  readonly ownerFault: string | null
  /** When the expired key is deleted, in epoch milliseconds; null = it is live, is kept, or is being deleted. */
  readonly removalMs: number | null
  /** Name of the Config with the cap, for messages. */
  readonly configName: string
  /** Why a deleted key's tokens could not be recorded as revoked; null = nothing failed. */
  readonly tokensFault: string | null
  readonly nowMs: number
}

/** The status to publish. The gateway writes lastActivity (contract 1.5, 3.4). */
export type DesiredKeyStatus = Omit<OwnedAccessKeyStatus, 'lastActivity'> & {
  readonly conditions: readonly Condition[]
}

/**
 * The status to publish for a key. The end of a key that slides has milliseconds, since its last use has: it works until then,
 * less than a second longer than status says.
 */
export function statusOf(snapshot: KeySnapshot): DesiredKeyStatus {
  const { key, lifetime, expirationTimestamp, removalMs, nowMs } = snapshot
  const { effectiveSeconds } = lifetime
  return {
    ...(expirationTimestamp === null ? {} : { expirationTimestamp }),
    ...(removalMs === null ? {} : { removalTimestamp: formatSecond(removalMs) }),
    ...(effectiveSeconds === null ? {} : { effectiveTTLSeconds: effectiveSeconds }),
    ...(key.digest === null ? {} : { keyID: keyIdOf(key) }),
    ...(key.identity === null ? {} : { identity: key.identity }),
    observedGeneration: key.generation,
    conditions: withTransitionTimes(
      conditionsOf(snapshot),
      key.published.conditions,
      key.generation,
      nowMs,
    ),
  }
}

/** Whether the wanted status is published already. */
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

/** States that only an edit of the key or another cap ends. */
const STALLED: ReadonlySet<KeyState> = new Set(['NoIdentity', 'KeyConflict', 'Expired', 'Disabled'])

function conditionsOf(snapshot: KeySnapshot): readonly DesiredCondition[] {
  const { state, lifetime } = snapshot
  const message = messageOf(snapshot)
  const ready = {
    type: 'Ready',
    status: state === 'Active' ? 'True' : 'False',
    reason: state,
    message,
  } as const
  return [
    ready,
    ...(STALLED.has(state) ? [stalledCondition(ready)] : []),
    ...(lifetime.capped ? [cappedCondition(snapshot)] : []),
  ]
}

function cappedCondition({ lifetime, caps, configName }: KeySnapshot): DesiredCondition {
  const own =
    lifetime.ownSeconds === null
      ? 'no lifetime of its own'
      : `a lifetime of ${lifetime.ownSeconds} s`
  const message = `The key has ${own}; accessKeyMaxTTLSeconds of Config ${configName} ends it ${caps.maxTtlSeconds} s after its creation.`
  return { type: 'LifetimeCapped', status: 'True', reason: 'CappedByConfig', message }
}

function messageOf(snapshot: KeySnapshot): string {
  const { lifetime } = snapshot
  const isIgnored = lifetime.activityIgnoredUntilMs !== null
  const ignored = ' Its recorded last use lies more than 60 s in the future and is ignored.'
  return MESSAGES[snapshot.state](snapshot) + (isIgnored ? ignored : '')
}

const HEARTBEAT_SENTENCE =
  'The key opens nothing and never ends: gateways write to it to test that their watch of the keys is current.'

const identityFaultMessage = ({ identityFault }: KeySnapshot): string =>
  identityFault?.message ?? ''

const MESSAGES: Readonly<Record<KeyState, (snapshot: KeySnapshot) => string>> = {
  Active: (snapshot) => {
    if (isHeartbeatKey(snapshot.key)) return HEARTBEAT_SENTENCE
    if (!isBearerType(snapshot.key.type)) return notBearerMessage(snapshot)
    const { expirationTimestamp } = snapshot
    return expirationTimestamp === null
      ? 'The key works and never expires.'
      : `The key works until ${expirationTimestamp}, ${expiryBasisOf(snapshot)}.`
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
  UserDisabled: identityFaultMessage,
  TeamGone: identityFaultMessage,
  IdentityGone: identityFaultMessage,
  IdentityStale: identityFaultMessage,
  SignInAgain: identityFaultMessage,
  Expired: (snapshot) =>
    `The key expired ${snapshot.expirationTimestamp}, ${expiryBasisOf(snapshot)}; ${removalMessageOf(snapshot)}.`,
  Disabled: () => 'The key is disabled and does not work: remove spec.disabled to enable it.',
  OwnerNotReady: ({ ownerFault }) => `The key does not work, because ${ownerFault}.`,
}

/** Keys of a type for one purpose open nothing as a bearer (contract 1.3, 10.3). */
function notBearerMessage({ key, expirationTimestamp }: KeySnapshot): string {
  const end =
    expirationTimestamp === null ? 'It never expires' : `It expires ${expirationTimestamp}`
  return `A key of type ${key.type} is no bearer credential: the gateway refuses it. ${end}.`
}

const MOST_NAMES = 10

/** At most ten names: more would not fit into an event. */
function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMES
  return names.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function expiryBasisOf({ lifetime, caps, key }: KeySnapshot): string {
  const { startMs, expiresMs, activityMs, effectiveSeconds } = lifetime
  const isCapOnAge =
    caps.maxTtlSeconds !== null && expiresMs === startMs + caps.maxTtlSeconds * 1000
  const isUsed = key.slides && (activityMs ?? startMs) > startMs
  if (isCapOnAge || !isUsed)
    return `${isCapOnAge ? caps.maxTtlSeconds : effectiveSeconds} s after its creation`
  return `${effectiveSeconds} s after its last use`
}

function removalMessageOf({ removalMs, key, lifetime }: KeySnapshot): string {
  if (removalMs !== null && removalMs === lifetime.expiresMs) return 'it is deleted at once'
  if (removalMs !== null) return `it is deleted ${formatSecond(removalMs)}`
  if (key.onExpiry === 'Keep') return 'it is kept, as its annotation asks'
  return key.isOfClaim && key.isDisabled
    ? 'it is kept, because it is disabled and its claim would make another'
    : 'it is kept, because a GitOps tool applies it'
}
