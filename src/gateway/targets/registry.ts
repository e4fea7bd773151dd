// Which API a path belongs to (contract 9.1), and the upstream that serves it.
import type { RequestTarget } from '../../domain/scope/request-info.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import { type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'

/** Where a request-target leads; null = to no API that is served here. */
type Route = {
  readonly target: RequestTarget
  /** What follows the prefix, as it was sent: empty, or it begins with a slash or a question mark. */
  readonly rest: string
} | null

const MANAGEMENT = '/kubernetes/management'

/** The API that a request-target leads to, by its bytes alone: nothing is decoded yet. */
export function routeOf(requestTarget: string): Route {
  if (!requestTarget.startsWith(MANAGEMENT)) return null
  const rest = requestTarget.slice(MANAGEMENT.length)
  const ends = rest === '' || rest.startsWith('/') || rest.startsWith('?')
  return ends ? { target: { kind: 'Management' }, rest } : null
}

/** The upstream of a target, or the answer that says why there is none now. */
type ResolvedTarget =
  | { readonly ok: true; readonly upstream: Upstream }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** The targets of this gateway. */
export interface TargetRegistry {
  readonly resolve: (target: RequestTarget) => ResolvedTarget
}

/** A registry with one target: the management cluster. */
export function createTargetRegistry(management: Upstream): TargetRegistry {
  const resolved = { ok: true, upstream: management } as const
  return {
    resolve: ({ kind }) =>
      kind === 'Management' ? resolved : { ok: false, answer: refuse(ERRORS.noSuchApi) },
  }
}
