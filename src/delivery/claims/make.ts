// Makes the key or the token that replaces the one of a claim (contract 28.3, 28.5).
import type { Replacement } from '../../domain/claim/replacement.ts'
import { generateKey } from '../../issuance/new-object.ts'
import { type Outcome, requeueAt } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { secretChangedOf } from './announce.ts'
import { SHOWN_AFTER_MS } from './attempt.ts'
import { tryDelivery } from './deliver.ts'
import type { ClaimDeps } from './deps.ts'
import type { ClaimFacts } from './facts.ts'
import { createKey, createToken } from './new-credential.ts'
import type { ClaimStep } from './plan.ts'
import { recordEvents } from './publish.ts'
import { unlessRefused, writtenUnlessRefused } from './refusals.ts'

/** Makes a key, once the rate of new keys allows it and a trial of the write of the Secret has passed. */
export async function makeKey(
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
export async function makeToken(
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
