import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import { REVOKE_FINALIZER, TOKENS } from '../../api/names.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import {
  type ObjectTarget,
  applyFields,
  deleteEnded,
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
  const target: ObjectTarget = { client: deps.client, resource: TOKENS, store: deps.tokens }
  switch (step.kind) {
    case 'nothing':
      return done
    case 'wait':
      return requeueAt(step.wakeMs)
    case 'adopt':
      // Before the token is issued, so that no issued token is deleted without a revocation record.
      await applyFields(
        target,
        token,
        { metadata: { finalizers: [REVOKE_FINALIZER] } },
        { reason: 'adopt' },
      )
      return done
    case 'issue': {
      const keyID = await issue(target, token, step, deps)
      const { announce, status } = step
      if (keyID !== null) reportIssue(token, { announce, status, keyID }, deps, context)
      return done
    }
    case 'record':
      deps.revocations.record(token.uid, step.expiresMs)
      return requeueAt(step.wakeMs)
    case 'publish':
      if (await publishStatus(target, token, step)) reportStatus(token, step, deps, context)
      return requeueAfterWrite(step.wakeMs, deps.clock.nowMs())
    case 'delete':
      if (await deleteEnded(target, token)) context.log.info({}, 'ended token deleted')
      return done
    case 'release':
      if (await releaseObject(target, token, REVOKE_FINALIZER))
        context.log.info({}, 'token released')
      return done
    default:
      return step satisfies never
  }
}

function reportIssue(
  token: TokenObject,
  { announce, status, keyID }: IssuedStep,
  deps: TokenDeps,
  context: ReconcileContext,
): void {
  deps.observer.issued()
  const { expirationTimestamp } = status
  context.log.info({ expirationTimestamp, keyID }, 'token issued')
  recordEvents(token, announce, deps, context)
}

/** A step that is done, with the ID of the signing key. */
type IssuedStep = Pick<Extract<TokenStep, { kind: 'issue' }>, 'announce' | 'status'> & {
  readonly keyID: string
}

function reportStatus(
  token: TokenObject,
  { announce }: Extract<TokenStep, { kind: 'publish' }>,
  deps: TokenDeps,
  context: ReconcileContext,
): void {
  recordEvents(token, announce, deps, context)
  for (const { reason } of announce)
    if (reason !== 'ScopeExceedsOwner') context.log.info({ reason }, 'token ended')
}

/** Reasons of events that need no action; the others are warnings. */
const NORMAL_REASONS: readonly TokenTransition['reason'][] = ['TokenIssued', 'Revoked']

function recordEvents(
  token: TokenObject,
  transitions: readonly TokenTransition[],
  { events }: TokenDeps,
  { reconcileID }: ReconcileContext,
): void {
  const regarding = regardingOf(TOKENS, token)
  recordTransitions(transitions, { regarding, normalReasons: NORMAL_REASONS, reconcileID }, events)
}
