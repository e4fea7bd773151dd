// When what a claim has delivered ends, and when its next credential may be made (contract 28.5).
import { earliest, isLive, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import {
  type KeyOfClaim,
  type TokenOfClaim,
  isTokenAsked,
  sameIdentity,
} from '../../domain/claim/claimed-key.ts'
import {
  deliversOf,
  keyDueMs,
  replaceableMs,
  tokenDueMs,
  isPersonGone,
} from '../../domain/claim/replacement.ts'
import { elderEndMs, isLifetimeTooShort } from '../../domain/claim/rotation.ts'
import { keyIdOf } from '../../domain/accesskey/access-key.ts'
import { parseTimestamp } from '../../domain/time.ts'
import type { ClaimFacts } from './facts.ts'

/** When a key stops working by itself, in epoch milliseconds. */
export const keyEndMs = (key: KeyOfClaim, { caps, nowMs }: ClaimFacts): number =>
  lifetimeOf(key, caps, nowMs).expiresMs ?? Number.POSITIVE_INFINITY

/** When what is in the Secret stops working, in epoch milliseconds; null = nothing that works is in it. */
export function deliveredEndMs(facts: ClaimFacts): number | null {
  const { holdings, claim } = facts
  if (holdings.key === null) return null
  const ofKey = keyEndMs(holdings.key, facts)
  if (claim.token === null && holdings.token === null) return ofKey
  return holdings.token === null ? null : earliest(ofKey, holdings.token.endMs)
}

/** Whether what is in the Secret has not ended. */
export function isDeliveredLive(facts: ClaimFacts): boolean {
  const endMs = deliveredEndMs(facts)
  return endMs !== null && isLive(endMs, facts.nowMs)
}

/** Whether a key is replaced when it is due: a disabled one is not, nor one whose person is gone or whose claim is suspended. */
export const isReplacedByAge = (key: KeyOfClaim, { claim }: ClaimFacts): boolean =>
  !key.isDisabled && !isPersonGone(key) && !claim.isSuspended

/** When the credential is replaced by its age, in epoch milliseconds; null = it is not. */
export function nextRotationMs(facts: ClaimFacts): number | null {
  const { claim, holdings } = facts
  const { key, token } = holdings
  if (key === null || !isReplacedByAge(key, facts)) return null
  const ofToken = claim.token === null || token === null ? null : tokenDueMs(token, facts)
  return earliest(keyDueMs(key, facts), ofToken)
}

/** Whether status does not name what the Secret has: it was delivered a moment ago. A token that is gone makes nothing new. */
export const isDeliveryNew = ({
  claim: { published },
  holdings: { key, token },
}: ClaimFacts): boolean =>
  key !== null &&
  (published.key?.keyID !== keyIdOf(key) ||
    (token !== null && published.token?.name !== token.name))

/** When the credential that the Secret has was delivered, in epoch milliseconds: now, unless status says so already. */
export const deliveredMs = (facts: ClaimFacts): number =>
  (isDeliveryNew(facts) ? null : lastRotationMs(facts)) ?? facts.nowMs

const lastRotationMs = ({ claim: { published } }: ClaimFacts): number | null =>
  parseTimestamp(published.lastRotation)

/** Elders end a second early, so that the manager need not write down first that they have expired. */
const EARLY_MS = 1000

/** When an elder key ends, in epoch milliseconds. One that acts as another, or was delivered in another way, ends at once. */
export function elderKeyEndMs(elder: KeyOfClaim, facts: ClaimFacts): number {
  const { claim } = facts
  if (!sameIdentity(elder.spec, claim.key) || elder.delivers !== deliversOf(claim))
    return facts.nowMs
  return elderEndMs({
    deliveredMs: deliveredMs(facts),
    overlapSeconds: claim.overlapSeconds,
    expiresMs: keyEndMs(elder, facts) - EARLY_MS,
  })
}

/** How long an ended token is left to the manager, which writes down first that it has ended. */
const TOKEN_LEFT_MS = 5000

/** When an elder token ends, in epoch milliseconds. One with another lifetime or scope than is asked for ends at once. */
export function elderTokenEndMs(elder: TokenOfClaim, facts: ClaimFacts): number {
  const { claim, nowMs } = facts
  if (claim.token === null || !isTokenAsked(elder, claim.token)) return nowMs
  return elderEndMs({
    deliveredMs: deliveredMs(facts),
    overlapSeconds: claim.overlapSeconds,
    expiresMs: (elder.endMs ?? nowMs) + TOKEN_LEFT_MS,
  })
}

/** Further ahead a delivery can only be by a clock that was wrong: no two replicas differ so much. */
const MOST_AHEAD_MS = 60_000

/**
 * When a replacement may be made, in epoch milliseconds. What was just delivered is in the status first; a clock that was
 * wrong keeps none from being made.
 */
export function mayReplaceMs(facts: ClaimFacts): number {
  const { nowMs } = facts
  const lastMs = isDeliveryNew(facts) ? nowMs : lastRotationMs(facts)
  return replaceableMs(lastMs !== null && lastMs > nowMs + MOST_AHEAD_MS ? null : lastMs)
}

/** Whether a credential would end before it could be replaced. */
export function isTooShort({ claim: { key, token }, caps }: ClaimFacts): boolean {
  const ofKey = earliest(key.ttlSeconds, caps.maxTtlSeconds) ?? key.ttlSeconds
  return isLifetimeTooShort(Math.min(ofKey, token?.ttlSeconds ?? ofKey))
}
