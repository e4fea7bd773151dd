import type { ConditionReason } from '../../api/names.ts'
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
import { type Cut, type TokenLifetime, capEndMs } from './lifetime.ts'
import type { TokenCircumstances, TokenReadyState } from './ready-state.ts'

/** The status to publish, but for the token itself: that is signed, or read, at the last moment. */
export type DesiredTokenStatus = Omit<DirectClusterEndpointTokenStatus, 'token'> & {
  readonly conditions: readonly Condition[]
}

/** What status says besides its conditions; absent where nothing was issued. */
type Particulars = Pick<
  DirectClusterEndpointTokenStatus,
  'expirationTimestamp' | 'issuedTimestamp' | 'keyID' | 'owner'
>

/** What status says of a token, for good or for now. */
export function statusOf(
  token: TokenObject,
  fate: TokenReadyState,
  circumstances: TokenCircumstances,
): DesiredTokenStatus {
  return {
    ...particularsOf(token, fate, circumstances),
    observedGeneration: token.generation,
    conditions: conditionsOf(token, verdictsOf(token, fate, circumstances), circumstances.nowMs),
  }
}

/**
 * What status says of a token that is being deleted.
 *
 * @param fault why its revocation could not be recorded yet; null = it is, or need not be
 */
export function terminatingStatus(
  token: TokenObject,
  fault: string | null,
  nowMs: number,
): DesiredTokenStatus {
  const waits = ` It stays until its revocation is recorded, which failed: ${fault}.`
  const message = `The token is being deleted and is revoked.${fault === null ? '' : waits}`
  const verdict: DesiredCondition = {
    type: 'Ready',
    status: 'False',
    reason: 'Terminating',
    message,
  }
  return {
    ...publishedParticulars(token),
    observedGeneration: token.generation,
    conditions: conditionsOf(token, [verdict], nowMs),
  }
}

/** Whether status says this already, and holds a token only if it may. */
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

/** Those of a token to be signed now lack the key's id: who signs is known when it is done. */
function particularsOf(
  token: TokenObject,
  fate: TokenReadyState,
  { owner }: TokenCircumstances,
): Particulars {
  if (fate.reason !== 'Issued' || fate.issue === null) return publishedParticulars(token)
  return {
    expirationTimestamp: formatTimestamp(fate.issue.lifetime.expiresMs),
    issuedTimestamp: formatTimestamp(token.creationMs),
    ...(owner ? { owner: { name: owner.key.name, uid: owner.key.uid } } : {}),
  }
}

/** Status always has the end of a token that was issued: once the token is removed, only this shows it. */
function publishedParticulars(token: TokenObject): Particulars {
  const { issuedTimestamp, keyID, owner } = token.published
  const untilMs = issuedTokenEndMs(token)
  return {
    ...(untilMs === null ? {} : { expirationTimestamp: formatTimestamp(untilMs) }),
    ...(issuedTimestamp === undefined ? {} : { issuedTimestamp }),
    ...(keyID === undefined ? {} : { keyID }),
    ...(owner === null ? {} : { owner }),
  }
}

const conditionsOf = (
  { published, generation }: TokenObject,
  verdicts: readonly DesiredCondition[],
  nowMs: number,
): readonly Condition[] => withTransitionTimes(verdicts, published.conditions, generation, nowMs)

/** States that end only with another object, or with a change of the owner. */
const STALLED: ReadonlySet<TokenReadyState['reason']> = new Set([
  'Expired',
  'Revoked',
  'ScopeExceedsOwner',
  'ScopeTooLarge',
])

function verdictsOf(
  token: TokenObject,
  fate: TokenReadyState,
  circumstances: TokenCircumstances,
): readonly DesiredCondition[] {
  const { reason } = fate
  const message = reason === 'Issued' ? issuedMessage(token, fate, circumstances) : fate.message
  const ready = {
    type: 'Ready',
    status: reason === 'Issued' ? 'True' : 'False',
    reason,
    message,
  } as const
  const capped =
    reason === 'Issued'
      ? cappedVerdict(token, fate, circumstances)
      : cappedOnceEnded(token, circumstances)
  return [
    ready,
    ...(STALLED.has(reason) ? [stalledCondition(ready)] : []),
    ...(capped === null ? [] : [capped]),
  ]
}

type IssuedFate = Extract<TokenReadyState, { reason: 'Issued' }>

/** Speaks of exp only: the end of an owner that is in use moves with every use. */
function issuedMessage(
  { published }: TokenObject,
  { issue }: IssuedFate,
  { owner }: TokenCircumstances,
): string {
  const name = issue === null ? published.owner?.name : owner?.key.name
  const expires = issue ? formatTimestamp(issue.lifetime.expiresMs) : published.expirationTimestamp
  const under = name === undefined ? 'without an owner' : `under access key ${name}`
  return `The token is valid until ${expires}, issued ${under}.`
}

function cappedVerdict(
  token: TokenObject,
  { issue }: IssuedFate,
  circumstances: TokenCircumstances,
): DesiredCondition | null {
  if (issue !== null) return cutVerdict(issue.lifetime, circumstances)
  const kept = keptCap(token)
  return cutSince(token, circumstances) ?? (kept?.message.startsWith(CUT_SINCE) ? null : kept)
}

/** What cuts a token that is issued now. */
function cutVerdict(
  { ownSeconds, cut }: TokenLifetime,
  { caps, configName, maxTtlMs, owner }: TokenCircumstances,
): DesiredCondition | null {
  if (cut === null) return null
  const by: Readonly<Record<Cut, string>> = {
    CappedByConfig: `accessKeyMaxTTLSeconds of Config ${configName} ends it ${caps.maxTtlSeconds} s after its creation`,
    CappedByOwner: `access key ${owner?.key.name} ends ${formatTimestamp(owner?.expiresMs ?? 0)}, and the token with it`,
    CappedByLimit: `the operator's --token-max-ttl ends it ${maxTtlMs / 1000} s after its creation`,
  }
  const message = `The token has a lifetime of ${ownSeconds} s; ${by[cut]}.`
  return { type: 'LifetimeCapped', status: 'True', reason: cut, message }
}

/** What the cap has ended says so for good: it is kept longer for that (contract 5.2). */
const cappedOnceEnded = (
  token: TokenObject,
  circumstances: TokenCircumstances,
): DesiredCondition | null =>
  isLive(capEndMs(token.creationMs, circumstances.caps), circumstances.nowMs)
    ? keptCap(token)
    : (cutSince(token, circumstances) ?? keptCap(token))

const CUT_SINCE = 'The token was issued until '

/** A cap lowered since the token was issued ends it too, which its claims can't show. */
function cutSince(
  { creationMs, published }: TokenObject,
  { caps, configName }: TokenCircumstances,
): DesiredCondition | null {
  const { issued, expirationTimestamp } = published
  const endMs = capEndMs(creationMs, caps)
  if (endMs === null || issued === null || issued === 'damaged') return null
  if (endMs >= issued.expiresMs) return null
  const message = `${CUT_SINCE}${expirationTimestamp}; accessKeyMaxTTLSeconds of Config ${configName} ends it ${caps.maxTtlSeconds} s after its creation.`
  return { type: 'LifetimeCapped', status: 'True', reason: 'CappedByConfig', message }
}

const keptCap = ({ published }: TokenObject): DesiredCondition | null => {
  const kept = findCondition(published.conditions, 'LifetimeCapped')
  if (!kept) return null
  const { type, status, reason, message } = kept
  // Published by the operator: `published` leaves out conditions of other managers.
  return { type, status, reason: reason as ConditionReason, message }
}
