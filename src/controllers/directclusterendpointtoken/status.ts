import type { ConditionReason } from '../../api/reasons.ts'
import type { DirectClusterEndpointTokenStatus } from '../../api/directclusterendpointtoken.gen.ts'
import type { Condition } from '../../api/objects.ts'
import { isLive } from '../../domain/accesskey/lifetime.ts'
import {
  type DesiredCondition,
  findCondition,
  sameConditions,
  stalledCondition,
  withTransitionTimes,
} from '../../domain/conditions.ts'
import { formatTimestamp } from '../../domain/time.ts'
import {
  type PublishedTokenStatus,
  type TokenObject,
  issuedTokenEndMs,
} from '../../domain/token/token.ts'
import { type CapReason, type TokenLifetime, capEndMs } from './lifetime.ts'
import type { ReadyStateInput, TokenReadyState } from './ready-state.ts'

/** The status to publish, without the token itself, which is signed or read right before the write. */
export type DesiredTokenStatus = Omit<DirectClusterEndpointTokenStatus, 'token'> & {
  readonly conditions: readonly Condition[]
}

/** The fields of status that describe the issued token; absent = no token was issued. */
type IssuedFields = Pick<
  DirectClusterEndpointTokenStatus,
  'expirationTimestamp' | 'issuedTimestamp' | 'keyID' | 'owner'
>

/** The status to publish for a token in that state. */
export function statusOf(
  token: TokenObject,
  readyState: TokenReadyState,
  input: ReadyStateInput,
): DesiredTokenStatus {
  const issued = issuedFieldsOf(token, readyState, input)
  const desired = desiredConditionsOf({ token, readyState, issued }, input)
  const { published, generation } = token
  return {
    ...issued,
    observedGeneration: generation,
    conditions: withTransitionTimes(desired, published.conditions, generation, input.nowMs),
  }
}

/** Whether the wanted status is published already, and status holds a token only if it may. */
export function isPublished(
  wanted: DesiredTokenStatus,
  mayHoldToken: boolean,
  published: PublishedTokenStatus,
): boolean {
  return (
    (mayHoldToken || published.issued === null) &&
    wanted.expirationTimestamp === published.expirationTimestamp &&
    wanted.issuedTimestamp === published.issuedTimestamp &&
    wanted.keyID === published.keyID &&
    wanted.owner?.uid === published.owner?.uid &&
    wanted.owner?.name === published.owner?.name &&
    wanted.observedGeneration === published.observedGeneration &&
    sameConditions(wanted.conditions, published.conditions)
  )
}

/** The fields of the issued token. For a token that is about to be signed keyID is missing until it is signed. */
function issuedFieldsOf(
  token: TokenObject,
  readyState: TokenReadyState,
  { owner }: ReadyStateInput,
): IssuedFields {
  if (readyState.reason !== 'Issued' || readyState.issue === null)
    return publishedIssuedFields(token)
  return {
    expirationTimestamp: formatTimestamp(readyState.issue.lifetime.expiresMs),
    issuedTimestamp: formatTimestamp(token.creationMs),
    ...(owner ? { owner: { name: owner.key.name, uid: owner.key.uid } } : {}),
  }
}

/** The published fields. The expiry stays after the token is removed from status, because nothing else shows it. */
function publishedIssuedFields(token: TokenObject): IssuedFields {
  const { issuedTimestamp, keyID, owner } = token.published
  const untilMs = issuedTokenEndMs(token)
  return {
    ...(untilMs === null ? {} : { expirationTimestamp: formatTimestamp(untilMs) }),
    ...(issuedTimestamp === undefined ? {} : { issuedTimestamp }),
    ...(keyID === undefined ? {} : { keyID }),
    ...(owner === null ? {} : { owner }),
  }
}

/** States that only a new object, or a change of the owner, can end. */
const STALLED: ReadonlySet<TokenReadyState['reason']> = new Set([
  'Expired',
  'Revoked',
  'ScopeExceedsOwner',
  'ScopeTooLarge',
])

/** What the conditions of a token say. */
interface Described {
  readonly token: TokenObject
  readonly readyState: TokenReadyState
  /** Its fields in the status to publish. */
  readonly issued: IssuedFields
}

function desiredConditionsOf(
  { token, readyState, issued }: Described,
  input: ReadyStateInput,
): readonly DesiredCondition[] {
  const { reason } = readyState
  const message = reason === 'Issued' ? issuedMessage(issued) : readyState.message
  const ready = {
    type: 'Ready',
    status: reason === 'Issued' ? 'True' : 'False',
    reason,
    message,
  } as const
  if (reason === 'Terminating') return [ready]
  const capped =
    reason === 'Issued'
      ? cappedCondition(token, readyState, input)
      : cappedConditionOnceEnded(token, input)
  return [
    ready,
    ...(STALLED.has(reason) ? [stalledCondition(ready)] : []),
    ...(capped === null ? [] : [capped]),
  ]
}

type ValidTokenState = Extract<TokenReadyState, { reason: 'Issued' }>

/** Names `exp` only: the expiry of a sliding owner moves with every use. */
function issuedMessage({ expirationTimestamp, owner }: IssuedFields): string {
  const under = owner === undefined ? 'without an owner' : `under access key ${owner.name}`
  return `The token is valid until ${expirationTimestamp}, issued ${under}.`
}

function cappedCondition(
  token: TokenObject,
  { issue }: ValidTokenState,
  input: ReadyStateInput,
): DesiredCondition | null {
  if (issue !== null) return issuedCapCondition(issue.lifetime, input)
  const previous = publishedCapCondition(token)
  return (
    loweredCapCondition(token, input) ??
    (previous?.message.startsWith(LOWERED_CAP_PREFIX) ? null : previous)
  )
}

/** The condition for a token that is issued now; null = its own ttl decides. */
function issuedCapCondition(
  { ownSeconds, cut }: TokenLifetime,
  { caps, configName, maxTtlMs, owner }: ReadyStateInput,
): DesiredCondition | null {
  if (cut === null) return null
  const by: Readonly<Record<CapReason, string>> = {
    CappedByConfig: `accessKeyMaxTTLSeconds of Config ${configName} ends it ${caps.maxTtlSeconds} s after its creation`,
    CappedByOwner: `access key ${owner?.key.name} ends ${formatTimestamp(owner?.expiresMs ?? 0)}, and the token with it`,
    CappedByLimit: `the operator's --token-max-ttl ends it ${maxTtlMs / 1000} s after its creation`,
  }
  const message = `The token has a lifetime of ${ownSeconds} s; ${by[cut]}.`
  return { type: 'LifetimeCapped', status: 'True', reason: cut, message }
}

/**
 * The condition of an ended token. A token that the cap ended keeps it, as it is retained for longer (contract 5.2).
 */
const cappedConditionOnceEnded = (
  token: TokenObject,
  input: ReadyStateInput,
): DesiredCondition | null =>
  isLive(capEndMs(token.creationMs, input.caps), input.nowMs)
    ? publishedCapCondition(token)
    : (loweredCapCondition(token, input) ?? publishedCapCondition(token))

const LOWERED_CAP_PREFIX = 'The token was issued until '

/**
 * The condition for a cap that was lowered after the issue and ends the token before its `exp`; null = no such cap.
 */
function loweredCapCondition(
  { creationMs, published }: TokenObject,
  { caps, configName }: ReadyStateInput,
): DesiredCondition | null {
  const { issued, expirationTimestamp } = published
  const endMs = capEndMs(creationMs, caps)
  if (endMs === null || issued === null || issued === 'damaged') return null
  if (endMs >= issued.expiresMs) return null
  const message = `${LOWERED_CAP_PREFIX}${expirationTimestamp}; accessKeyMaxTTLSeconds of Config ${configName} ends it ${caps.maxTtlSeconds} s after its creation.`
  return { type: 'LifetimeCapped', status: 'True', reason: 'CappedByConfig', message }
}

const publishedCapCondition = ({ published }: TokenObject): DesiredCondition | null => {
  const previous = findCondition(published.conditions, 'LifetimeCapped')
  if (!previous) return null
  const { type, status, reason, message } = previous
  // Published by the operator: `published` leaves out conditions of other managers.
  return { type, status, reason: reason as ConditionReason, message }
}
