// Publishes the state of a claim: its status and its Events (contract 28.7).
import { ACCESS_KEY_CLAIMS } from '../../api/names.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import { type ObjectTarget, applyStatus, regardingOf } from '../../kube/controller/object-writes.ts'
import { type Outcome, requeueAfterWrite } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { recordTransitions } from '../../kube/event-recorder.ts'
import { type ClaimTransition, NORMAL_REASONS } from './announce.ts'
import type { ClaimDeps } from './deps.ts'
import type { ClaimFacts } from './facts.ts'
import type { ClaimStep } from './plan.ts'

/** The claims, for writes of them. */
export const claimsIn = ({ client, stores }: ClaimDeps): ObjectTarget => ({
  client,
  resource: ACCESS_KEY_CLAIMS,
  store: stores.claims,
})

/** Writes the status, then the Events of its transitions. */
export async function publish(
  { status, announce, wakeMs }: Extract<ClaimStep, { kind: 'publish' }>,
  { claim }: ClaimFacts,
  deps: ClaimDeps,
  { reconcileID }: ReconcileContext,
): Promise<Outcome> {
  await applyStatus(claimsIn(deps), claim, status)
  recordEvents(claim, announce, deps, reconcileID)
  return requeueAfterWrite(wakeMs, deps.clock.nowMs())
}

/** Records the Events of transitions. */
export function recordEvents(
  claim: Claim,
  transitions: readonly ClaimTransition[],
  { events }: ClaimDeps,
  reconcileID: string,
): void {
  const regarding = regardingOf(ACCESS_KEY_CLAIMS, claim)
  recordTransitions(transitions, { regarding, normalReasons: NORMAL_REASONS, reconcileID }, events)
}
