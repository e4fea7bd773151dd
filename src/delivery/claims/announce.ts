// The Events about changes of a claim (contract 28.7), from the status that it has and the one that it gets.
import type { EventReason } from '../../api/reasons.ts'
import { findCondition } from '../../domain/conditions.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import type { ClaimFacts } from './facts.ts'
import { isDeliveryNew } from './lifetimes.ts'
import { replacementIn } from './state.ts'
import type { DesiredClaimStatus } from './status.ts'

/** A change of a claim that an Event reports. */
export type ClaimTransition = TransitionEvent<
  Extract<
    EventReason,
    | 'Delivered'
    | 'Rotated'
    | 'DeliveryForbidden'
    | 'SecretTaken'
    | 'SecretRefused'
    | 'SecretChanged'
    | 'RotationFailed'
  >
>

/** Reasons of Events that need no action; the others are warnings. */
export const NORMAL_REASONS: readonly ClaimTransition['reason'][] = ['Delivered', 'Rotated']

/** The Events that a write of status reports. */
export function transitionsOf(
  facts: ClaimFacts,
  status: DesiredClaimStatus,
): readonly ClaimTransition[] {
  const delivery = deliveryOf(facts, status)
  const failure = failureOf(facts, status)
  return [...(delivery ? [delivery] : []), ...failure]
}

function deliveryOf(
  facts: ClaimFacts,
  { key, token, secretName, expirationTimestamp }: DesiredClaimStatus,
): ClaimTransition | null {
  if (key === undefined || secretName === undefined || !isDeliveryNew(facts)) return null
  const what = token === undefined ? `key ${key.keyID}` : `token ${token.name} of key ${key.keyID}`
  const reason = facts.claim.published.lastRotation === undefined ? 'Delivered' : 'Rotated'
  return {
    reason,
    note: `Secret ${secretName} has ${what}, which works until ${expirationTimestamp}.`,
    discriminator: `${key.keyID} ${token?.name}`,
  }
}

const REFUSALS = ['DeliveryForbidden', 'SecretTaken', 'SecretRefused'] as const

/** A refusal, and that it keeps a credential from its rotation. What only waits for its time has not failed. */
function failureOf(
  { claim: { published }, attempt, fault }: ClaimFacts,
  { conditions, key, observedGeneration }: DesiredClaimStatus,
): readonly ClaimTransition[] {
  const ready = findCondition(conditions, 'Ready')
  const before = findCondition(published.conditions, 'Ready')
  const reason = REFUSALS.find((one) => one === ready?.reason)
  if (ready === undefined || ready.reason === before?.reason) return []
  const discriminator = `${observedGeneration} ${key?.keyID} ${ready.lastTransitionTime}`
  const isRotation = published.key !== undefined
  const { message: note } = ready
  const isTried = attempt !== null || fault !== null
  const failed = isRotation && (reason !== undefined || (ready.reason === 'Pending' && isTried))
  return [
    ...(reason === undefined ? [] : [{ reason, note, discriminator }]),
    ...(failed ? [{ reason: 'RotationFailed', note, discriminator } as const] : []),
  ]
}

/** The Event about a Secret that others have changed or deleted; null = it is as it was delivered. */
export function secretChangedOf(facts: ClaimFacts): ClaimTransition | null {
  const { claim } = facts
  if (replacementIn(facts)?.cause !== 'secret_changed') return null
  const was = facts.secret.kind === 'held' ? 'its data were changed' : 'it was deleted'
  return {
    reason: 'SecretChanged',
    note: `Secret ${claim.secret.name}: ${was} by others. It gets another credential.`,
    discriminator: `${claim.published.key?.keyID} ${claim.published.lastRotation}`,
  }
}
