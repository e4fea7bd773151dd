import { REVOKE_FINALIZER } from '../../api/names.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { earliest } from '../../domain/accesskey/lifetime.ts'
import { deleteObject, releaseObject } from '../../kube/controller/object-writes.ts'
import { type Outcome, REQUEUE_AFTER_MS, done, requeueAt } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { adopt } from './adopt.ts'
import type { IdentityChange } from './identity-change.ts'
import { type KeyStep, type KeyTransition, plan } from './plan.ts'
import { type KeyPlanSources, planInputOf } from './plan-input.ts'
import { type KeyPublishDeps, keyIdField, publish, recordEvents, targetOf } from './publish.ts'
import { type RecordIdentityDeps, recordIdentity } from './record-identity.ts'
import { revokeOwnedTokens } from './revoke-owned-tokens.ts'

/** Dependencies of reconcile. */
export interface KeyDeps extends KeyPlanSources, KeyPublishDeps, RecordIdentityDeps {
  readonly newKey: () => string
}

/** Why keys are written, for metrics. */
export const KEY_WRITE_REASONS = [
  'adopt',
  'status',
  'refreshed',
  'gone',
  'expired',
  'surplus',
  'finalizer',
] as const

/** Does the next step for a key, for a new key the next two; the watch event of its own write enqueues the next. */
export async function reconcile(
  name: string,
  deps: KeyDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  const key = deps.keys.get(name)
  if (!key) return done
  return take(plan(key, planInputOf(key, deps)), key, deps, context)
}

function take(
  step: KeyStep,
  key: AccessKey,
  deps: KeyDeps,
  context: ReconcileContext,
): Promise<Outcome> | Outcome {
  switch (step.kind) {
    case 'nothing':
      return done
    case 'wait':
      return requeueAt(step.wakeMs)
    case 'adopt':
      return adoptAndPublish(key, step.createdAt, deps, context)
    case 'publish':
      return publish(key, step, deps, context)
    case 'record':
      return recordAndGoOn(key, step.change, deps, context)
    case 'delete':
      return remove(key, step.because, deps, context)
    case 'release':
      return release(key, deps, context)
    default:
      return step satisfies never
  }
}

/**
 * Whatever becomes of the write, the rest of the plan follows in the same reconcile: reports that come without a pause, or are
 * refused, keep no key from its end.
 */
async function recordAndGoOn(
  key: AccessKey,
  change: IdentityChange,
  deps: KeyDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  const againMs = await recordIdentity(key, change, deps, context)
  const left = deps.keys.get(key.name)
  if (!left) return done
  const step = plan(left, { ...planInputOf(left, deps), report: null })
  const outcome = await take(step, left, deps, context)
  return requeueAt(earliest(outcome.result === 'later' ? outcome.atMs : null, againMs))
}

/**
 * Publishes the status of an adopted key in the same reconcile: after a burst of new keys it would have to queue
 * again to become Ready. Any other step is left to the reconcile that our write causes.
 */
async function adoptAndPublish(
  key: AccessKey,
  createdAt: string,
  deps: KeyDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  const { client, keys, newKey } = deps
  const { log, reconcileID } = context
  const adoption = await adopt(key, createdAt, { client, keys, newKey })
  if (adoption) {
    const { isGenerated } = adoption
    log.info({ ...keyIdField(key), generated: isGenerated }, 'access key adopted')
    if (isGenerated) recordEvents(key, [KEY_GENERATED], deps, reconcileID)
  }
  const adopted = keys.get(key.name)
  if (!adopted) return done
  const step = plan(adopted, planInputOf(adopted, deps))
  return step.kind === 'publish' ? publish(adopted, step, deps, context) : done
}

const KEY_GENERATED: KeyTransition = {
  reason: 'KeyGenerated',
  note: 'A key was generated into spec.key.',
  discriminator: '',
}

async function remove(
  key: AccessKey,
  because: Extract<KeyStep, { kind: 'delete' }>['because'],
  deps: KeyDeps,
  { log }: ReconcileContext,
): Promise<Outcome> {
  if (await deleteObject(targetOf(deps), key, because))
    log.info(keyIdField(key), DELETED_SENTENCES[because])
  return done
}

const DELETED_SENTENCES = {
  expired: 'expired access key deleted',
  surplus: 'access key of an old sign-in deleted',
} as const

/**
 * Revokes the tokens before it removes the finalizer: once the key is gone, nothing leads to the tokens issued under
 * it.
 */
async function release(key: AccessKey, deps: KeyDeps, { log }: ReconcileContext): Promise<Outcome> {
  if ((await revokeOwnedTokens(key, deps)) > 0)
    return requeueAt(deps.clock.nowMs() + REQUEUE_AFTER_MS)
  if (await releaseObject(targetOf(deps), key, REVOKE_FINALIZER))
    log.info(keyIdField(key), 'access key released')
  return done
}
