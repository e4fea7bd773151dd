// Does the steps of the plan for a claim, until one has to wait (contract 28.3 to 28.6).
import { ACCESS_KEYS, REVOKE_FINALIZER, TOKENS } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { keyIdOf } from '../../domain/accesskey/access-key.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import type { KeyOfClaim } from '../../domain/claim/claimed-key.ts'
import { testFailedAsConflict } from '../../kube/client/api-error.ts'
import type { PatchOperation } from '../../kube/client/client.ts'
import { adoptObject, deleteObject } from '../../kube/controller/object-writes.ts'
import { type Outcome, done, requeueAfterWrite, requeueAt } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { readSecret } from '../secrets/secret-writes.ts'
import { uidsOf } from './attempt.ts'
import { deliver, relabel } from './deliver.ts'
import type { ClaimDeps } from './deps.ts'
import type { ClaimFacts } from './facts.ts'
import { makeKey, makeToken } from './make.ts'
import { factsOf } from './plan-input.ts'
import { type ClaimStep, plan } from './plan.ts'
import { claimsIn, publish } from './publish.ts'
import { leaving, refused, taken, unlessRefused, writtenUnlessRefused } from './refusals.ts'
import { release, endKey } from './release.ts'

/** Why claims are written, for metrics. */
export const CLAIM_WRITE_REASONS = ['adopt', 'status', 'finalizer'] as const

/** More steps than a claim ever needs at once: beyond, another reconcile goes on. */
const MOST_STEPS = 20

/** Does the next steps for a claim, until one has to wait. */
export async function reconcile(
  key: string,
  deps: ClaimDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const claim = deps.stores.claims.getByKey(key)
    if (!claim) return done
    const facts = factsOf(claim, deps)
    const outcome = await take(plan(facts), facts, deps, context)
    if (outcome !== 'goOn') return outcome
  }
  return requeueAfterWrite(deps.clock.nowMs(), deps.clock.nowMs())
}

async function take(
  step: ClaimStep,
  facts: ClaimFacts,
  deps: ClaimDeps,
  context: ReconcileContext,
): Promise<Outcome | 'goOn'> {
  const { claim } = facts
  switch (step.kind) {
    case 'nothing':
      return done
    case 'wait':
      return requeueAt(step.wakeMs)
    case 'adopt':
      await adoptObject(claimsIn(deps), claim, REVOKE_FINALIZER, {})
      return 'goOn'
    case 'release':
      return release(facts, deps, context)
    case 'look':
      await look(claim, deps)
      return 'goOn'
    case 'abandon':
      abandon(claim, deps)
      return 'goOn'
    case 'endKey':
      await endKey(step, deps, context)
      return 'goOn'
    case 'endToken':
      await deleteObject(
        { ...deps, resource: TOKENS, store: deps.stores.tokens },
        step.token,
        step.because,
      )
      return 'goOn'
    case 'limitKey':
      await writtenUnlessRefused(claim, () => limitKey(step.key, claim, deps), deps)
      return 'goOn'
    case 'makeKey':
      return makeKey(step.replacement, facts, deps, context)
    case 'makeToken':
      return makeToken(step, facts, deps)
    case 'deliver':
      return deliverStep(step, facts, deps, context)
    case 'label':
      if (
        await unlessRefused(claim, () => relabel(facts, step.view, deps), deps, { isTrial: false })
      )
        succeeded(claim, deps)
      return 'goOn'
    case 'publish':
      return publish(step, facts, deps, context)
    default:
      return step satisfies never
  }
}

/** Delivers. A token that is revoked, which the watch has not shown yet, is asked for again later. */
async function deliverStep(
  step: Extract<ClaimStep, { kind: 'deliver' }>,
  facts: ClaimFacts,
  deps: ClaimDeps,
  { log }: ReconcileContext,
): Promise<Outcome | 'goOn'> {
  const { claim, nowMs } = facts
  const { attempt, key } = step
  const isTried = await unlessRefused(claim, () => deliver(facts, step, deps), deps, {
    isTrial: false,
  })
  if (!isTried) return 'goOn'
  succeeded(claim, deps)
  if (deps.memory.of(claim).attempt !== null) return requeueAfterWrite(nowMs, nowMs)
  log.info({ keyID: keyIdOf(key), cause: attempt.cause }, 'credential delivered')
  return 'goOn'
}

const succeeded = (claim: Claim, deps: ClaimDeps): void => {
  deps.memory.of(claim).fault = null
}

function abandon(claim: Claim, deps: ClaimDeps): void {
  const record = deps.memory.of(claim)
  if (record.attempt !== null) record.abandoned = uidsOf(record.attempt)
  record.attempt = null
}

/** Reads the Secret. */
async function look(claim: Claim, deps: ClaimDeps): Promise<void> {
  const record = deps.memory.of(claim)
  await unlessRefused(
    claim,
    async () => {
      const found = await readSecret(claim, deps)
      if (typeof found === 'string') {
        const fault = found === 'taken' ? taken(claim) : leaving(claim)
        return refused(record, claim, fault, deps.clock.nowMs())
      }
      record.secret = found
      if (record.fault?.reason !== 'SecretRefused') record.fault = null
    },
    deps,
    { isTrial: true },
  )
}

/** Gives a key the limits and the names that the claim asks for. @throws StatusError 409 when it has changed */
async function limitKey(key: KeyOfClaim, { key: wanted }: Claim, deps: ClaimDeps): Promise<void> {
  const { scope, ttlSeconds, displayName, description } = wanted
  const path = '/spec/scope'
  const scopeChange: readonly PatchOperation[] =
    scope !== null
      ? [{ op: 'add', path, value: scope }]
      : key.spec.scope === null
        ? []
        : [{ op: 'remove', path }]
  const operations: readonly PatchOperation[] = [
    { op: 'test', path: '/metadata/uid', value: key.uid },
    { op: 'test', path: '/metadata/resourceVersion', value: key.resourceVersion },
    { op: 'add', path: '/spec/ttl', value: ttlSeconds },
    { op: 'add', path: '/spec/displayName', value: displayName },
    { op: 'add', path: '/spec/description', value: description },
    ...scopeChange,
  ]
  try {
    const patched = await deps.client.patch<KubeObject>(
      ACCESS_KEYS,
      { name: key.name },
      operations,
      'limit',
    )
    deps.stores.keys.observe(patched)
  } catch (error) {
    throw testFailedAsConflict(error)
  }
}
