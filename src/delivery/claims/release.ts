// Ends the keys of claims (contract 28.6).
import { ACCESS_KEYS, CLAIM_LABEL, REVOKE_FINALIZER } from '../../api/names.ts'
import { keyIdOf } from '../../domain/accesskey/access-key.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import { listPages } from '../../kube/client/list.ts'
import {
  type ObjectTarget,
  applyStatus,
  deleteObject,
  releaseObject,
} from '../../kube/controller/object-writes.ts'
import { type Outcome, done } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { ClaimDeps } from './deps.ts'
import type { ClaimFacts } from './facts.ts'
import type { ClaimStep } from './plan.ts'
import { claimsIn } from './publish.ts'
import { isPublished, statusOf } from './status.ts'

const keysIn = ({ client, stores }: ClaimDeps): ObjectTarget => ({
  client,
  resource: ACCESS_KEYS,
  store: stores.keys,
})

/** Deletes a key that was replaced, or that its claim must not have. */
export async function endKey(
  { key, because }: Extract<ClaimStep, { kind: 'endKey' }>,
  deps: ClaimDeps,
  { log }: ReconcileContext,
): Promise<void> {
  await deleteObject(keysIn(deps), key, because)
  log.info({ keyID: keyIdOf(key), because }, 'access key of a claim deleted')
}

/**
 * Ends the keys of a claim that is deleted, as the API server has them, and lets the claim go.
 *
 * @throws StatusError when a key cannot be ended, after status says that the claim is ending
 */
export async function release(
  facts: ClaimFacts,
  deps: ClaimDeps,
  { log }: ReconcileContext,
): Promise<Outcome> {
  const { claim } = facts
  const { memory, slots } = deps
  try {
    await endKeysOf(claim, deps)
  } catch (error) {
    const status = statusOf(facts)
    if (!isPublished(status, claim.published)) await applyStatus(claimsIn(deps), claim, status)
    throw error
  }
  memory.forget(claim)
  slots.release(claim.uid)
  if (await releaseObject(claimsIn(deps), claim, REVOKE_FINALIZER)) log.info({}, 'claim released')
  return done
}

async function endKeysOf({ uid }: Claim, deps: ClaimDeps): Promise<void> {
  const labelSelector = `${CLAIM_LABEL}=${uid}`
  for await (const page of listPages(deps.client, ACCESS_KEYS, { labelSelector })) {
    for (const { metadata } of page) {
      if (metadata.deletionTimestamp !== undefined) continue
      await deleteObject(keysIn(deps), metadata, 'replaced')
    }
  }
}
