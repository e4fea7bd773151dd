import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import { TOKENS } from '../../api/names.ts'
import { type Outcome, REQUEUE_AFTER_MS, done, requeueAt } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type ConfirmationDeps, confirmedStep } from './confirmed-step.ts'
import { type PerformDeps, perform } from './perform.ts'

/** Dependencies of reconcile. */
export interface TokenDeps extends ConfirmationDeps, PerformDeps {}

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
