import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import { REVOKE_FINALIZER, TOKENS } from '../../api/names.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import {
  type ObjectTarget,
  applyFields,
  deleteObject,
  regardingOf,
  releaseObject,
} from '../../kube/controller/object-writes.ts'
import {
  type Outcome,
  REQUEUE_AFTER_MS,
  done,
  requeueAfterWrite,
  requeueAt,
} from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { Store } from '../../kube/informer/store.ts'
import { type ConfirmationDeps, confirmedStep } from './confirmed-step.ts'
import type { TokenStep, TokenTransition } from './plan.ts'
import { issue, publishStatus } from './publish.ts'

/** Called for each issue and each signature, for the platform_* metrics. */
interface TokenObserver {
  issued(): void
  signed(seconds: number): void
}

/** Dependencies of reconcile. */
export interface TokenDeps extends ConfirmationDeps {
  readonly client: KubeClient
  readonly tokens: Store<TokenObject>
  readonly events: EventRecorder
  readonly observer: TokenObserver
}

/** Why tokens are written, for metrics. */
export const TOKEN_WRITE_REASONS = ['adopt', 'status', 'expired', 'finalizer', 'owner'] as const

/** Does the next step for a token; the watch event of its own write enqueues the step after it. */
export async function reconcile(
  name: string,
  deps: TokenDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  const { issues, clock } = deps
  if (issues.has(name)) await readAfterFailure(name, deps)
  const token = deps.tokens.get(name)
  const step = token ? await confirmedStep(token, deps) : null
  const outcome = token && step ? await perform(token, step, deps, context) : done
  // Not after an error: the API server may have stored the status although no answer came.
  issues.end(name)
  return token && step === null ? requeueAt(clock.nowMs() + REQUEUE_AFTER_MS) : outcome
}

/** Reads the token after a failed issue, so that the deletion of its owner sees whether it was issued. */
async function readAfterFailure(
  name: string,
  { client, tokens, issues }: TokenDeps,
): Promise<void> {
  const object = await client.get<DirectClusterEndpointToken>(TOKENS, { name })
  if (object) tokens.observe(object)
  issues.end(name)
}

async function perform(
  token: TokenObject,
  step: TokenStep,
  deps: TokenDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  switch (step.kind) {
    case 'nothing':
      return done
    case 'wait':
      return requeueAt(step.wakeMs)
    case 'adopt':
      // Before the token is issued, so that no issued token is deleted without a revocation record.
      await applyFields(
        targetOf(deps),
        token,
        { metadata: { finalizers: [REVOKE_FINALIZER] } },
        { reason: 'adopt' },
      )
      return done
    case 'issue':
      await issueToken(token, step, deps, context)
      return done
    case 'record':
      deps.revocations.record(token.uid, step.expiresMs)
      return requeueAt(step.wakeMs)
    case 'publish':
      await publish(token, step, deps, context)
      return requeueAfterWrite(step.wakeMs, deps.clock.nowMs())
    case 'delete':
      await remove(token, deps, context)
      return done
    case 'release':
      await release(token, deps, context)
      return done
    default:
      return step satisfies never
  }
}

const targetOf = ({ client, tokens }: TokenDeps): ObjectTarget => ({
  client,
  resource: TOKENS,
  store: tokens,
})

async function issueToken(
  token: TokenObject,
  step: Extract<TokenStep, { kind: 'issue' }>,
  deps: TokenDeps,
  { log, reconcileID }: ReconcileContext,
): Promise<void> {
  const keyID = await issue(targetOf(deps), token, step, deps)
  if (keyID === null) return
  deps.observer.issued()
  const { expirationTimestamp } = step.status
  log.info({ expirationTimestamp, keyID }, 'token issued')
  recordEvents(token, step.announce, deps, reconcileID)
}

async function publish(
  token: TokenObject,
  step: Extract<TokenStep, { kind: 'publish' }>,
  deps: TokenDeps,
  { log, reconcileID }: ReconcileContext,
): Promise<void> {
  if (!(await publishStatus(targetOf(deps), token, step))) return
  recordEvents(token, step.announce, deps, reconcileID)
  for (const { reason } of step.announce)
    if (reason !== 'ScopeExceedsOwner') log.info({ reason }, 'token ended')
}

async function remove(
  token: TokenObject,
  deps: TokenDeps,
  { log }: ReconcileContext,
): Promise<void> {
  if (await deleteObject(targetOf(deps), token, 'expired')) log.info({}, 'ended token deleted')
}

async function release(
  token: TokenObject,
  deps: TokenDeps,
  { log }: ReconcileContext,
): Promise<void> {
  if (await releaseObject(targetOf(deps), token, REVOKE_FINALIZER)) log.info({}, 'token released')
}

/** Reasons of events that need no action; the others are warnings. */
const NORMAL_REASONS: readonly TokenTransition['reason'][] = ['TokenIssued', 'Revoked']

function recordEvents(
  token: TokenObject,
  transitions: readonly TokenTransition[],
  { events }: TokenDeps,
  reconcileID: string,
): void {
  const regarding = regardingOf(TOKENS, token)
  recordTransitions(transitions, { regarding, normalReasons: NORMAL_REASONS, reconcileID }, events)
}
