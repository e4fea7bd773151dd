// Finds the target of a request (contract 9.5), and keeps requests on the path of a space inside of it (11.9). It refuses
// our kinds on other clusters: the gateway hides their secrets in the management cluster only (12.4).
import { authorizeInSpace } from '../../domain/scope/authorize.ts'
import { type TargetKind, isOwnGroup } from '../../domain/scope/request-info.ts'
import { refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { type Stage, known } from '../request-context.ts'
import type { TargetRegistry } from '../targets/resolver.ts'

/** The dependencies of the stage. */
export interface TargetDeps {
  readonly targets: TargetRegistry
  /** Called for every request that leads out of its space, for metrics. */
  readonly scopeDenied: (target: TargetKind) => void
}

const OWN_KINDS_ELSEWHERE = refuse(ERRORS.ownKindsElsewhere)

/** Refuses a target that is unknown or has a fault, and requests that lead out of a space. */
export const targetResolution: Stage<TargetDeps> = (context, { targets, scopeDenied }) => {
  const { attributes } = known(context, 'request')
  const resolved = targets.resolve(attributes.target)
  if (!resolved.ok) return resolved.answer
  if (isOwnGroup(attributes) && attributes.target.kind !== 'Management') return OWN_KINDS_ELSEWHERE
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
