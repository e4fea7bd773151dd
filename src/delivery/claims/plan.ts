// The next step for a claim (contract 28.3 to 28.6).
import { REVOKE_FINALIZER } from '../../api/names.ts'
import { earliest } from '../../domain/accesskey/lifetime.ts'
import {
  type KeyOfClaim,
  type TokenOfClaim,
  isTokenAsked,
  sameIdentity,
  sameLimits,
} from '../../domain/claim/claimed-key.ts'
import { type Replacement, deliversOf, hasEnded, reasonOf } from '../../domain/claim/replacement.ts'
import type { SecretView } from '../../domain/claim/secret-view.ts'
import { sameJson } from '../../domain/json/json.ts'
import { formatSecond } from '../../domain/time.ts'
import { type ClaimTransition, transitionsOf } from './announce.ts'
import { ACCEPTED_AFTER_MS, type DeliveryAttempt, SHOWN_AFTER_MS } from './attempt.ts'
import type { ClaimFacts } from './facts.ts'
import {
  deliveredEndMs,
  elderKeyEndMs,
  elderTokenEndMs,
  mayReplaceMs,
  nextRotationMs,
} from './lifetimes.ts'
import { obstacleOf, replacementIn } from './state.ts'
import { type DesiredClaimStatus, isPublished, statusOf } from './status.ts'

/** Why a key or token is deleted. */
type EndCause = 'replaced' | 'stray'

/** The next step for a claim. `wakeMs` is the time of the next reconcile; null = only after a change. */
export type ClaimStep =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly wakeMs: number }
  | { readonly kind: 'adopt' }
  | { readonly kind: 'release' }
  | { readonly kind: 'look' }
  | { readonly kind: 'endKey'; readonly key: KeyOfClaim; readonly because: EndCause }
  | { readonly kind: 'endToken'; readonly token: TokenOfClaim; readonly because: EndCause }
  | { readonly kind: 'limitKey'; readonly key: KeyOfClaim }
  | { readonly kind: 'abandon' }
  | { readonly kind: 'makeKey'; readonly replacement: Replacement }
  | { readonly kind: 'makeToken'; readonly replacement: Replacement; readonly owner: KeyOfClaim }
  | {
      readonly kind: 'deliver'
      readonly attempt: DeliveryAttempt
      readonly key: KeyOfClaim
      readonly token: TokenOfClaim | null
    }
  | { readonly kind: 'label'; readonly view: SecretView }
  | {
      readonly kind: 'publish'
      readonly status: DesiredClaimStatus
      readonly announce: readonly ClaimTransition[]
      readonly wakeMs: number | null
    }

/** One step: null = it does not apply. */
type ClaimPlanStep = (facts: ClaimFacts) => ClaimStep | null

/** The first that answers is the step. Status comes last, so that it says what was done. */
const STEPS: readonly ClaimPlanStep[] = [
  release,
  adopt,
  limitKeys,
  endSuperseded,
  stayOut,
  look,
  endStray,
  endElder,
  own,
  replace,
  label,
  publish,
  awaitChange,
]

/** The next step for a claim: the first that answers. */
export function plan(facts: ClaimFacts): ClaimStep {
  for (const step of STEPS) {
    const answer = step(facts)
    if (answer !== null) return answer
  }
  return { kind: 'nothing' }
}

const isAdopted = ({ claim }: ClaimFacts): boolean => claim.finalizers.includes(REVOKE_FINALIZER)

/** A claim that finalizers of others hold says that it ends; without any it is gone. */
function release(facts: ClaimFacts): ClaimStep | null {
  const { isDeleting, finalizers } = facts.claim
  if (!isDeleting) return null
  if (isAdopted(facts)) return { kind: 'release' }
  return (finalizers.length === 0 ? null : publish(facts)) ?? { kind: 'nothing' }
}

function adopt(facts: ClaimFacts): ClaimStep | null {
  return isAdopted(facts) ? null : { kind: 'adopt' }
}

/** A claim without a place has no look at its namespace. */
function stayOut(facts: ClaimFacts): ClaimStep | null {
  return facts.placeFault === null ? null : (publish(facts) ?? { kind: 'nothing' })
}

/** Without a view of the Secret no key is ended or made: it could be the one that is in use. */
function look(facts: ClaimFacts): ClaimStep | null {
  if (facts.secret.kind !== 'unknown') return null
  return facts.fault === null ? { kind: 'look' } : (publish(facts) ?? awaitChange(facts))
}

/** How long a key or token of another process is left to it: one that runs by mistake must not end what this one makes, and back. */
const LEFT_TO_OTHERS_MS = 10_000

/** Whether a stray may be under way in another process. By a clock that is wrong none is for long. */
const isLeft = (
  { uid, creationMs }: KeyOfClaim | TokenOfClaim,
  { abandoned, nowMs }: ClaimFacts,
): boolean => !abandoned.has(uid) && Math.abs(nowMs - creationMs) < LEFT_TO_OTHERS_MS

/** A token whose making was not answered: no other process makes one of this key. */
const isOfAttempt = ({ ownerRef }: TokenOfClaim, { attempt }: ClaimFacts): boolean =>
  attempt !== null && !attempt.isTokenOnly && ownerRef?.uid === attempt.key.uid

function endStray(facts: ClaimFacts): ClaimStep | null {
  const { strayKeys, strayTokens } = facts.holdings
  const key = strayKeys.find((one) => !isLeft(one, facts))
  const token = strayTokens.find((one) => isOfAttempt(one, facts) || !isLeft(one, facts))
  if (key) return { kind: 'endKey', key, because: 'stray' }
  return token ? { kind: 'endToken', token, because: 'stray' } : null
}

/**
 * Changes of scope, ttl and names reach the keys that work (contract 28.5). Not a key that acts as another than the claim asks
 * for: who takes a person out of a claim needs no right to that person, and must not widen the key that is left.
 */
function limitKeys({ claim, holdings, attemptKey, fault }: ClaimFacts): ClaimStep | null {
  // The write was refused, and is tried again later.
  if (fault?.reason === 'Pending') return null
  const { key, elderKeys } = holdings
  const isToLimit = ({ isDeleting, spec }: KeyOfClaim): boolean =>
    !isDeleting && sameIdentity(spec, claim.key) && !sameLimits(spec, claim.key)
  const found = [key, attemptKey, ...elderKeys].find((one) => one !== null && isToLimit(one))
  return found ? { kind: 'limitKey', key: found } : null
}

/** Elders end only once their successor is delivered; all but the newest end at once. */
function endElder(facts: ClaimFacts): ClaimStep | null {
  const { holdings, nowMs, secret } = facts
  if (holdings.key === null || secret.kind !== 'held') return null
  const [newestKey, ...otherKeys] = holdings.elderKeys
  const [newestToken, ...otherTokens] = holdings.elderTokens
  const [key] = [
    ...otherKeys,
    ...(newestKey && elderKeyEndMs(newestKey, facts) <= nowMs ? [newestKey] : []),
  ]
  if (key) return { kind: 'endKey', key, because: 'replaced' }
  const [token] = [
    ...otherTokens,
    ...(newestToken && elderTokenEndMs(newestToken, facts) <= nowMs ? [newestToken] : []),
  ]
  return token ? { kind: 'endToken', token, because: 'replaced' } : null
}

/** An elder whose successor status names ends at its time also where the Secret can't be seen: who hides it would keep it alive. */
function endSuperseded(facts: ClaimFacts): ClaimStep | null {
  const { claim, holdings, nowMs } = facts
  const { key, previous } = claim.published
  const kept = [holdings.key, ...holdings.elderKeys]
  const elder = holdings.elderKeys.find(({ name }) => name === previous?.name)
  if (elder === undefined || !kept.some((one) => one?.name === key?.name)) return null
  return elderKeyEndMs(elder, facts) <= nowMs
    ? { kind: 'endKey', key: elder, because: 'replaced' }
    : null
}

/** A Secret that was created and not made ours before the process died: an apply would not remove what it no longer names. */
function own({ secret, fault }: ClaimFacts): ClaimStep | null {
  return secret.kind === 'held' && secret.view.isCreatedOnly && fault === null
    ? { kind: 'label', view: secret.view }
    : null
}

/** Makes what is due and delivers it, one step at a time. */
function replace(facts: ClaimFacts): ClaimStep | null {
  const { attempt, fault, nowMs } = facts
  const replacement = replacementIn(facts)
  if (replacement === null) return attempt === null ? null : { kind: 'abandon' }
  if (obstacleOf(facts) !== null || fault !== null) return null
  if (attempt !== null)
    return isOutdated(facts, attempt, replacement) ? { kind: 'abandon' } : goOn(facts, attempt)
  const { strayKeys, strayTokens } = facts.holdings
  if (nowMs < mayReplaceMs(facts) || strayKeys.length + strayTokens.length > 0) return null
  if (!replacement.isTokenOnly) return { kind: 'makeKey', replacement }
  const { key: owner } = facts.holdings
  return owner === null ? null : { kind: 'makeToken', replacement, owner }
}

/** A key or token that the watch has not shown by then was deleted before it could. */
const SEEN_WITHIN_MS = 120_000

/** Whether the credential under way was ended by others, or would not be as it is asked for now. */
function isOutdated(
  { claim, attemptKey, attemptToken, nowMs }: ClaimFacts,
  attempt: DeliveryAttempt,
  replacement: Replacement,
): boolean {
  if (attempt.isTokenOnly && !replacement.isTokenOnly) return true
  if (isLost(attempt.key, attemptKey) || isLost(attempt.token, attemptToken)) return true
  const isUnseen = !attempt.key.isSeen || attempt.token?.isSeen === false
  if (isUnseen && nowMs >= attempt.startedMs + SEEN_WITHIN_MS) return true
  if (attemptToken !== null && claim.token !== null && !isTokenAsked(attemptToken, claim.token))
    return true
  return (
    attemptKey !== null &&
    (!sameIdentity(attemptKey.spec, claim.key) ||
      (!attempt.isTokenOnly && attemptKey.delivers !== deliversOf(claim)))
  )
}

/** Whether a key or token under way was deleted or has ended, so that it never will be delivered. */
function isLost(
  made: { readonly isSeen: boolean } | null,
  found: KeyOfClaim | TokenOfClaim | null,
): boolean {
  if (found === null) return made?.isSeen ?? false
  return found.isDeleting || hasEnded(found)
}

function goOn(
  { claim, attemptKey, attemptToken, nowMs }: ClaimFacts,
  attempt: DeliveryAttempt,
): ClaimStep | null {
  if (attemptKey === null || attempt.readySinceMs === null) return null
  if (claim.token !== null) {
    if (attempt.token === null)
      return { kind: 'makeToken', replacement: attempt, owner: attemptKey }
    if (attemptToken === null || reasonOf(attemptToken) !== 'Issued') return null
  }
  if (nowMs < attempt.readySinceMs + ACCEPTED_AFTER_MS) return null
  return { kind: 'deliver', attempt, key: attemptKey, token: attemptToken }
}

/** A webhook that changes what is written would keep a claim writing without end. */
const LABEL_AGAIN_AFTER_MS = 60_000

/** Labels and annotations that differ from the spec, and a Secret that the claim does not own. */
function label(facts: ClaimFacts): ClaimStep | null {
  const { secret, claim, fault, holdings, labelled, nowMs } = facts
  if (secret.kind !== 'held' || fault !== null || holdings.key === null) return null
  const isTried = labelled?.generation === claim.generation
  if (isTried && nowMs < labelled.atMs + LABEL_AGAIN_AFTER_MS) return null
  const { view } = secret
  const expires = expiresOf(facts)
  const isAsAsked =
    sameJson(view.labels, claim.secret.labels) &&
    sameJson(view.annotations, claim.secret.annotations) &&
    // Without an end, as of a token that is gone, the annotation stays.
    ['', view.expires].includes(expires) &&
    view.isOwned
  return isAsAsked ? null : { kind: 'label', view }
}

/** Annotation `expires` of the Secret; empty = nothing that works is in it. */
export function expiresOf(facts: ClaimFacts): string {
  const endMs = deliveredEndMs(facts)
  return endMs === null ? '' : formatSecond(endMs)
}

/** A healthy attempt is shown only once it is over: what status says meanwhile is of the generation before. */
function publish(facts: ClaimFacts): ClaimStep | null {
  const { claim, attempt, fault, nowMs } = facts
  if (attempt !== null && fault === null && nowMs < attempt.startedMs + SHOWN_AFTER_MS) return null
  const status = statusOf(facts)
  if (isPublished(status, claim.published)) return null
  return {
    kind: 'publish',
    status,
    announce: transitionsOf(facts, status),
    wakeMs: wakeMsOf(facts),
  }
}

function awaitChange(facts: ClaimFacts): ClaimStep | null {
  const wakeMs = wakeMsOf(facts)
  return wakeMs === null ? null : { kind: 'wait', wakeMs }
}

/** When to plan again without any event. */
function wakeMsOf(facts: ClaimFacts): number | null {
  const { holdings, attempt, fault, labelled, nowMs } = facts
  const { key, elderKeys, elderTokens, strayKeys, strayTokens } = holdings
  const isDelivered = key !== null
  const times = [
    fault?.retryMs ?? null,
    attempt === null ? null : attempt.startedMs + SHOWN_AFTER_MS,
    attempt === null ? null : attempt.startedMs + SEEN_WITHIN_MS,
    labelled === null ? null : labelled.atMs + LABEL_AGAIN_AFTER_MS,
    attempt === null || attempt.readySinceMs === null
      ? null
      : attempt.readySinceMs + ACCEPTED_AFTER_MS,
    replacementIn(facts) === null ? nextRotationMs(facts) : mayReplaceMs(facts),
    deliveredEndMs(facts),
    ...[...strayKeys, ...strayTokens].map(({ creationMs }) => creationMs + LEFT_TO_OTHERS_MS),
    ...(isDelivered ? elderKeys.map((elder) => elderKeyEndMs(elder, facts)) : []),
    ...(isDelivered ? elderTokens.map((elder) => elderTokenEndMs(elder, facts)) : []),
  ]
  return times
    .filter((atMs) => atMs !== null && Number.isFinite(atMs) && atMs > nowMs)
    .reduce<number | null>(earliest, null)
}
