// Finds the API that a path belongs to (contract 9.1), and the upstream that serves it.
import type { RequestTarget } from '../../domain/scope/request-info.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'

/** The target of a request; null = no API is served at the path. */
type Route = {
  readonly target: RequestTarget
  /** The raw rest after the prefix: empty, or it begins with a slash or a question mark. */
  readonly rest: string
} | null

const MANAGEMENT_PREFIX = '/kubernetes/management'

/** The route of a raw request-target: its prefix is compared byte by byte, nothing is decoded. */
export function routeOf(requestTarget: string): Route {
  if (!requestTarget.startsWith(MANAGEMENT_PREFIX)) return null
  const rest = requestTarget.slice(MANAGEMENT_PREFIX.length)
  const isWholePrefix = rest === '' || rest.startsWith('/') || rest.startsWith('?')
  return isWholePrefix ? { target: { kind: 'Management' }, rest } : null
}

/** The upstream of a target, or the refusal if the target is not served here. */
type ResolvedTarget =
  | { readonly ok: true; readonly upstream: Upstream }
  | { readonly ok: false; readonly answer: BufferedAnswer }

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
