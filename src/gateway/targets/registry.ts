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

/** A target besides the management cluster. */
export type ConnectedTarget = Exclude<RequestTarget, { readonly kind: 'Management' }>

/** The connection to a target; it ends when the target gets another kubeconfig, or is removed. */
export interface TargetConnection {
  readonly upstream: Upstream
}

/** What this replica knows of a target. `because`: a clause that names the fault, for the 503 and the Event. */
export type TargetState =
  | {
      readonly kind: 'usable'
      readonly connection: TargetConnection
      /** The namespace of a space; null for clusters and virtual clusters. */
      readonly namespace: string | null
    }
  | { readonly kind: 'unusable'; readonly because: string }

/** The targets besides the management cluster, as their Secrets define them (contract 9.5). */
export interface ConnectedTargets {
  /** null = no Secret defines the target. */
  readonly find: (target: ConnectedTarget) => TargetState | null
  /** Whether the Secrets were compared within the last 15 s (contract 10.4). */
  readonly isFresh: () => boolean
  /** Calls back with each connection that ends: its requests must end within a second. */
  readonly subscribe: (listener: (ended: TargetConnection) => void) => void
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
