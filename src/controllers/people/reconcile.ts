import { REVOKE_FINALIZER } from '../../api/names.ts'
import {
  type ObjectTarget,
  adoptObject,
  applyStatus,
  regardingOf,
  releaseObject,
} from '../../kube/controller/object-writes.ts'
import { type Outcome, done, requeueAt } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { recordTransitions } from '../../kube/event-recorder.ts'
import type { ObjectSource } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type EndKeysDeps, endKeys } from './end-keys.ts'
import { type PrincipalStep, plan } from './plan.ts'
import type { Principal, PrincipalKind } from './principal.ts'
import type { KeysLeft } from './status.ts'

/** Dependencies of reconcile. */
export interface PrincipalDeps extends EndKeysDeps {
  readonly kind: PrincipalKind
  readonly principals: ObjectSource<Principal>
  /** In how many Teams the person is; of a Team 0. */
  readonly teamCountOf: (principal: Principal) => number
  readonly clock: Clock
}

/** Why Users and Teams are written, for metrics. */
export const PRINCIPAL_WRITE_REASONS = ['adopt', 'status', 'finalizer'] as const

/** When a deletion looks for its keys again, in milliseconds, if no change of a key does it earlier. */
const LOOK_AGAIN_AFTER_MS = 2000

/** Does the next step for a User or Team, for a new one the next two. */
export async function reconcile(
  name: string,
  deps: PrincipalDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  const principal = deps.principals.getByKey(name)
  if (!principal) return done
  const step = stepOf(principal, deps, null)
  if (step.kind === 'endKeys') return endAndRelease(principal, deps, context)
  await perform(principal, step, deps, context)
  const adopted = step.kind === 'adopt' ? deps.principals.getByKey(name) : undefined
  if (adopted) await perform(adopted, stepOf(adopted, deps, null), deps, context)
  return done
}

function stepOf(
  principal: Principal,
  { kind, teamCountOf, clock }: PrincipalDeps,
  keysLeft: KeysLeft | null,
): PrincipalStep {
  return plan(principal, kind, {
    teamCount: teamCountOf(principal),
    keysLeft,
    nowMs: clock.nowMs(),
  })
}

/**
 * Ends the keys, and lets the object go once none is left.
 *
 * @throws StatusError when the end of a key is refused, after status says so: it is tried again with back-off
 */
async function endAndRelease(
  principal: Principal,
  deps: PrincipalDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  const { error, ...keysLeft } = await endKeys({ principal, kind: deps.kind, deps, context })
  await perform(principal, stepOf(principal, deps, keysLeft), deps, context)
  if (error !== null) throw error
  return keysLeft.count === 0 ? done : requeueAt(deps.clock.nowMs() + LOOK_AGAIN_AFTER_MS)
}

/** Does a step that is one write. @throws StatusError 409 when the object has changed */
async function perform(
  principal: Principal,
  step: PrincipalStep,
  deps: PrincipalDeps,
  { log, reconcileID }: ReconcileContext,
): Promise<void> {
  const { client, kind, principals, events } = deps
  const target: ObjectTarget = { client, resource: kind.resource, store: principals }
  switch (step.kind) {
    case 'adopt':
      return adoptObject(target, principal, REVOKE_FINALIZER, {})
    case 'publish': {
      await applyStatus(target, principal, step.status)
      const regarding = regardingOf(kind.resource, principal)
      return recordTransitions(step.announce, { regarding, normalReasons: [], reconcileID }, events)
    }
    case 'release':
      if (await releaseObject(target, principal, REVOKE_FINALIZER))
        log.info({}, 'person or team released')
      return
    case 'nothing':
    case 'endKeys':
      return
    default:
      return step satisfies never
  }
}
