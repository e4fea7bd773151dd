import {
  ACCESS_KEY_CLAIMS,
  ACCESS_KEYS,
  CLAIM_LABEL,
  REVOKE_FINALIZER,
  TOKENS,
} from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { keyIdOf } from '../../domain/accesskey/access-key.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import type { KeyOfClaim } from '../../domain/claim/claimed-key.ts'
import type { Replacement } from '../../domain/claim/replacement.ts'
import { generateKey } from '../../issuance/new-object.ts'
import { testFailedAsConflict } from '../../kube/client/api-error.ts'
import type { PatchOperation } from '../../kube/client/client.ts'
import { listPages } from '../../kube/client/list.ts'
import {
  type ObjectTarget,
  adoptObject,
  applyStatus,
  deleteObject,
  regardingOf,
  releaseObject,
} from '../../kube/controller/object-writes.ts'
import { type Outcome, done, requeueAfterWrite, requeueAt } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { recordTransitions } from '../../kube/event-recorder.ts'
import { readSecret } from '../secrets/secret-writes.ts'
import { type ClaimTransition, NORMAL_REASONS, secretChangedOf } from './announce.ts'
import { SHOWN_AFTER_MS, uidsOf } from './attempt.ts'
import { deliver, relabel, tryDelivery } from './deliver.ts'
import type { ClaimDeps } from './deps.ts'
import type { ClaimFacts } from './facts.ts'
import { createKey, createToken } from './new-credential.ts'
import { type ClaimStep, plan } from './plan.ts'
import { factsOf } from './plan-input.ts'
import { leaving, refused, taken, unlessRefused, writtenUnlessRefused } from './refusals.ts'
import { isPublished, statusOf } from './status.ts'

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

const claimsIn = ({ client, stores }: ClaimDeps): ObjectTarget => ({
  client,
  resource: ACCESS_KEY_CLAIMS,
  store: stores.claims,
})

const keysIn = ({ client, stores }: ClaimDeps): ObjectTarget => ({
  client,
  resource: ACCESS_KEYS,
  store: stores.keys,
})

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

async function endKey(
  { key, because }: Extract<ClaimStep, { kind: 'endKey' }>,
  deps: ClaimDeps,
  { log }: ReconcileContext,
): Promise<void> {
  await deleteObject(keysIn(deps), key, because)
  log.info({ keyID: keyIdOf(key), because }, 'access key of a claim deleted')
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

async function makeKey(
  replacement: Replacement,
  facts: ClaimFacts,
  deps: ClaimDeps,
  { log, reconcileID }: ReconcileContext,
): Promise<Outcome | 'goOn'> {
  const { claim, nowMs } = facts
  const slotMs = deps.slots.reserve(claim.uid, nowMs)
  if (slotMs > nowMs) return requeueAt(slotMs)
  deps.slots.release(claim.uid)
  if (!(await isTriedWell(facts, deps))) return 'goOn'
  const plaintext = generateKey()
  const { client } = deps
  const create = () => createKey(claim, plaintext, { client, nowMs })
  const made = await writtenUnlessRefused(claim, create, deps)
  if (made === null) return 'goOn'
  deps.memory.of(claim).attempt = {
    ...replacement,
    startedMs: nowMs,
    key: { ...made, plaintext, isSeen: false },
    token: null,
    readySinceMs: null,
  }
  log.info({ key: made, cause: replacement.cause }, 'access key made for a claim')
  const changed = secretChangedOf(facts)
  if (changed) recordEvents(claim, [changed], deps, reconcileID)
  return requeueAt(nowMs + SHOWN_AFTER_MS)
}

/** Tries the write of the Secret. The answer is shown where there is none: a policy of others may quote the one that stands. */
const isTriedWell = (facts: ClaimFacts, deps: ClaimDeps): Promise<boolean> =>
  unlessRefused(facts.claim, () => tryDelivery(facts, deps), deps, {
    isTrial: facts.secret.kind === 'missing',
  })

/** Makes a token under the key of the attempt, or, where only the token is new, under the key that the Secret's token has. */
async function makeToken(
  { replacement, owner }: Extract<ClaimStep, { kind: 'makeToken' }>,
  facts: ClaimFacts,
  deps: ClaimDeps,
): Promise<Outcome | 'goOn'> {
  const { claim, attempt, nowMs } = facts
  const isTried = attempt !== null || (await isTriedWell(facts, deps))
  if (!isTried) return 'goOn'
  const create = () => createToken(claim, owner, deps.client)
  const token = await writtenUnlessRefused(claim, create, deps)
  if (token === null) return 'goOn'
  deps.memory.of(claim).attempt = {
    ...(attempt ?? {
      ...replacement,
      startedMs: nowMs,
      key: { name: owner.name, uid: owner.uid, plaintext: null, isSeen: true },
      readySinceMs: null,
    }),
    token: { ...token, isSeen: false },
  }
  return requeueAt(nowMs + SHOWN_AFTER_MS)
}

async function publish(
  { status, announce, wakeMs }: Extract<ClaimStep, { kind: 'publish' }>,
  { claim }: ClaimFacts,
  deps: ClaimDeps,
  { reconcileID }: ReconcileContext,
): Promise<Outcome> {
  await applyStatus(claimsIn(deps), claim, status)
  recordEvents(claim, announce, deps, reconcileID)
  return requeueAfterWrite(wakeMs, deps.clock.nowMs())
}

function recordEvents(
  claim: Claim,
  transitions: readonly ClaimTransition[],
  { events }: ClaimDeps,
  reconcileID: string,
): void {
  const regarding = regardingOf(ACCESS_KEY_CLAIMS, claim)
  recordTransitions(transitions, { regarding, normalReasons: NORMAL_REASONS, reconcileID }, events)
}

/**
 * Ends the keys of a claim that is deleted, as the API server has them, and lets the claim go.
 *
 * @throws StatusError when a key cannot be ended, after status says that the claim is ending
 */
async function release(
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
