// Finds the target of a request (contract 9.5), and keeps requests on the path of a space inside of it (11.9).
import { authorizeInSpace } from '../../domain/scope/authorize.ts'
import type { TargetKind } from '../../domain/scope/request-info.ts'
import { refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { type Stage, known } from '../request-context.ts'
import type { TargetRegistry } from '../targets/registry.ts'

/** The dependencies of the stage. */
export interface TargetDeps {
  readonly targets: TargetRegistry
  /** Called for every request that leads out of its space, for metrics. */
  readonly scopeDenied: (target: TargetKind) => void
}

/** Refuses a target that is unknown or has a fault, and requests that lead out of a space. */
export const target: Stage<TargetDeps> = (context, { targets, scopeDenied }) => {
  const { attributes } = known(context, 'request')
  const resolved = targets.resolve(attributes.target)
  if (!resolved.ok) return resolved.answer
  if (resolved.namespace !== null) {
    const decision = authorizeInSpace(resolved.namespace, attributes)
    if (!decision.allowed) {
      scopeDenied(attributes.target.kind)
      return refuse(ERRORS.outsideSpace, { decision: decision.because })
    }
  }
  context.resolved = resolved
  return null
}
