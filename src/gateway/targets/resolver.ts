// Finds the upstream that serves a target (contract 9.1, 9.5).
import { type RequestTarget, targetText } from '../../domain/scope/request-info.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'

/** A target besides the management cluster. */
export type ConnectedTarget = Exclude<RequestTarget, { readonly kind: 'Management' }>

/** The connection to a target; it ends when the target gets another kubeconfig, or is removed. */
export interface TargetConnection {
  readonly upstream: Upstream
}

/** The state of a target at this replica. `because`: a clause that names the fault, for the 503 and the Event. */
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

/** A target that requests can go to. */
export interface ResolvedTarget {
  readonly ok: true
  readonly upstream: Upstream
  /** null = the local target, whose connection never ends. */
  readonly connection: TargetConnection | null
  /** As in TargetState. */
  readonly namespace: string | null
}

/** The refusal of a target that is not served here; `isUnknown`: no Secret defines it. */
interface UnresolvedTarget {
  readonly ok: false
  readonly isUnknown: boolean
  readonly answer: BufferedAnswer
}

/** The targets of this gateway. */
export interface TargetRegistry {
  readonly resolve: (target: RequestTarget) => ResolvedTarget | UnresolvedTarget
}

const TARGETS_STALE: UnresolvedTarget = {
  ok: false,
  isUnknown: false,
  answer: refuse(ERRORS.targetsStale),
}

/** The target whose API server this process belongs to: it needs no Secret, and its connection never ends. */
interface LocalTarget {
  readonly target: RequestTarget
  readonly upstream: Upstream
}

/** A registry of the local target and the connected ones. */
export function createTargetRegistry(
  { target: local, upstream }: LocalTarget,
  connected: Pick<ConnectedTargets, 'find' | 'isFresh'>,
): TargetRegistry {
  const resolved = { ok: true, upstream, connection: null, namespace: null } as const
  return {
    resolve: (target) => {
      if (isSameTarget(target, local)) return resolved
      if (target.kind === 'Management')
        throw new Error('no route of a direct endpoint leads to the management cluster')
      if (!connected.isFresh()) return TARGETS_STALE
      const state = connected.find(target)
      const values = { target: targetText(target) }
      if (state === null)
        return { ok: false, isUnknown: true, answer: refuse(ERRORS.targetUnknown, values) }
      if (state.kind === 'unusable') {
        const fault = { ...values, fault: state.because }
        return { ok: false, isUnknown: false, answer: refuse(ERRORS.targetUnusable, fault) }
      }
      const { connection, namespace } = state
      return { ok: true, upstream: connection.upstream, connection, namespace }
    },
  }
}

const isSameTarget = (target: RequestTarget, local: RequestTarget): boolean =>
  local.kind === 'Management'
    ? target.kind === 'Management'
    : local.kind === 'Cluster' && target.kind === 'Cluster' && target.cluster === local.cluster
