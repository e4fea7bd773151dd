// Does a step of a token: one write, or the request for a record.
import { REVOKE_FINALIZER } from '../../api/names.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import { adoptObject, deleteObject, releaseObject } from '../../kube/controller/object-writes.ts'
import { type Outcome, done, requeueAfterWrite, requeueAt } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { RevocationList } from '../../revocation/revocation-list.ts'
import type { TokenStep } from './plan.ts'
import { type TokenPublishDeps, publish, targetOf } from './publish.ts'

/** Dependencies of perform. */
export interface PerformDeps extends TokenPublishDeps {
  readonly revocations: RevocationList
}

/** Does the step, and says when the token is reconciled again. */
export async function perform(
  token: TokenObject,
  step: TokenStep,
  deps: PerformDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  switch (step.kind) {
    case 'nothing':
      return done
    case 'wait':
      return requeueAt(step.wakeMs)
    case 'record':
      deps.revocations.record(token.uid, step.expiresMs)
      return requeueAt(step.wakeMs)
    case 'issue':
      await publish(token, step, deps, context)
      return done
    case 'publish':
      await publish(token, step, deps, context)
      return requeueAfterWrite(step.wakeMs, deps.clock.nowMs())
    case 'adopt':
      // Before the token is issued, so that no issued token is deleted without a revocation record.
      await adoptObject(targetOf(deps), token, REVOKE_FINALIZER, {})
      return done
    case 'delete': {
      const { log } = context
      if (await deleteObject(targetOf(deps), token, 'expired')) log.info({}, 'ended token deleted')
      return done
    }
    case 'release': {
      const { log } = context
      if (await releaseObject(targetOf(deps), token, REVOKE_FINALIZER))
        log.info({}, 'token released')
      return done
    }
    default:
      return step satisfies never
  }
}
