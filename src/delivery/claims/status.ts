// The status of a claim, and the Events about its changes (contract 28.7).
import type { AccessKeyClaimStatus } from '../../api/accesskeyclaim.gen.ts'
import type { Condition } from '../../api/objects.ts'
import { keyIdOf } from '../../domain/accesskey/access-key.ts'
import { type PublishedClaim, identityOf } from '../../domain/claim/claim.ts'
import { latestKeyOf } from '../../domain/claim/holdings.ts'
import {
  type DesiredCondition,
  sameConditions,
  stalledCondition,
  withTransitionTimes,
} from '../../domain/conditions.ts'
import { type Json, sameJson } from '../../domain/json/json.ts'
import { formatSecond } from '../../domain/time.ts'
import type { ClaimFacts } from './facts.ts'
import {
  deliveredEndMs,
  deliveredMs,
  elderKeyEndMs,
  isDeliveryNew,
  isReplacedByAge,
  keyEndMs,
  nextRotationMs,
} from './lifetimes.ts'
import { STALLED, stateOf } from './state.ts'

/** The status to publish. */
export type DesiredClaimStatus = AccessKeyClaimStatus & {
  readonly conditions: readonly Condition[]
}

/** The status to publish for a claim. */
export function statusOf(facts: ClaimFacts): DesiredClaimStatus {
  const { claim, nowMs } = facts
  const { published, generation } = claim
  const { state, message } = stateOf(facts)
  const ready: DesiredCondition = {
    type: 'Ready',
    status: state === 'Delivered' ? 'True' : 'False',
    reason: state,
    message,
  }
  const conditions = STALLED.has(state) ? [ready, stalledCondition(ready)] : [ready]
  return {
    identity: identityOf(facts.holdings.key?.spec ?? claim.key),
    ...deliveryOf(facts),
    observedGeneration: generation,
    conditions: withTransitionTimes(conditions, published.conditions, generation, nowMs),
  }
}

/** Nothing of a claim that is being deleted works. */
function deliveryOf(facts: ClaimFacts): AccessKeyClaimStatus {
  if (facts.claim.isDeleting) return {}
  return facts.secret.kind === 'unknown' ? lastKnown(facts) : deliveredFields(facts)
}

/**
 * The delivery as status has it already, without an elder that has ended: the Secret cannot be read. The time when its key is due
 * stays in it, so that a rotation that is held up shows as overdue while the key works.
 */
function lastKnown(facts: ClaimFacts): AccessKeyClaimStatus {
  const { claim, holdings } = facts
  const key = latestKeyOf(holdings)
  const isRotated = key !== null && isReplacedByAge(key, facts)
  const {
    observedGeneration: _,
    conditions: __,
    identity: ___,
    nextRotation,
    previous,
    ...known
  } = claim.published
  const isElderKept = holdings.elderKeys.some(({ name }) => name === previous?.name)
  return {
    ...known,
    ...(isRotated && nextRotation !== undefined ? { nextRotation } : {}),
    ...(isElderKept && previous !== undefined ? { previous } : {}),
  }
}

function deliveredFields(facts: ClaimFacts): AccessKeyClaimStatus {
  const { claim, holdings, secret } = facts
  const { published } = claim
  const { key, token } = holdings
  const [endMs, nextMs] = [deliveredEndMs(facts), nextRotationMs(facts)]
  const lastRotate = key?.rotateRequest ?? published.lastRotate
  const lastRotation = key === null ? published.lastRotation : formatSecond(deliveredMs(facts))
  return {
    ...(key === null
      ? {}
      : {
          key: {
            name: key.name,
            keyID: keyIdOf(key),
            expirationTimestamp: formatSecond(keyEndMs(key, facts)),
          },
        }),
    ...previousOf(facts),
    ...(token === null
      ? {}
      : { token: { name: token.name, ...timestamp('expirationTimestamp', token.endMs) } }),
    ...timestamp('expirationTimestamp', endMs),
    ...timestamp('nextRotation', nextMs),
    ...(lastRotation === undefined ? {} : { lastRotation }),
    ...(lastRotate === undefined ? {} : { lastRotate }),
    ...(secret.kind === 'held' && key !== null
      ? {
          secretName: claim.secret.name,
          secretDigest: secretDigestOf(facts, secret.view.dataDigest),
        }
      : {}),
  }
}

const timestamp = (name: 'expirationTimestamp' | 'nextRotation', atMs: number | null) =>
  atMs === null ? {} : { [name]: formatSecond(atMs) }

/**
 * The digest of what was delivered: of the Secret as it is, when status is to name another credential; else the one that status
 * has, so that a change by others shows until another credential is delivered.
 */
const secretDigestOf = (facts: ClaimFacts, dataDigest: string): string =>
  isDeliveryNew(facts) ? dataDigest : (facts.claim.published.secretDigest ?? dataDigest)

/** The newest elder, until it ends. */
function previousOf(facts: ClaimFacts): Pick<AccessKeyClaimStatus, 'previous'> {
  const [elder] = facts.holdings.elderKeys
  if (elder === undefined) return {}
  const endMs = facts.holdings.key === null ? keyEndMs(elder, facts) : elderKeyEndMs(elder, facts)
  // A disabled key is named as long as it keeps the claim from another one.
  const isAwaited = facts.holdings.key === null && elder.isDisabled
  if (endMs <= facts.nowMs && !isAwaited) return {}
  return {
    previous: { name: elder.name, keyID: keyIdOf(elder), expirationTimestamp: formatSecond(endMs) },
  }
}

/** Whether the wanted status is published already. Fields that others have set do not count. */
export function isPublished(wanted: DesiredClaimStatus, published: PublishedClaim): boolean {
  const { conditions, ...fields } = wanted
  const { conditions: others, ...publishedFields } = published
  const types = new Set(['Ready', 'Stalled'])
  return (
    sameJson(fields as Json, publishedFields as Json) &&
    sameConditions(
      conditions,
      others.filter(({ type }) => types.has(type)),
    )
  )
}
