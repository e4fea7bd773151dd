// Decides from a Lease who leads: the rules of client-go's leader election, without I/O.
import type { KubeObject } from '../../api/objects.ts'
import { formatMicroTime } from '../../domain/time.ts'

/** The spec of a Lease. The Lease is free if holderIdentity is absent or empty. */
export interface LeaseSpec {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  /** MicroTime, as renewTime. No candidate compares these times with its own clock. */
  readonly acquireTime?: string
  readonly renewTime?: string
  /** Number of changes of the holder. */
  readonly leaseTransitions?: number
}

/** A Lease as the API server sends it. */
export type Lease = KubeObject<LeaseSpec>

/** A Lease, and the local monotonic time when this content was first seen. */
export interface ObservedLease {
  /** null = there is no Lease. */
  readonly spec: LeaseSpec | null
  readonly sinceMs: number
}

/** A candidate of the election. */
interface ElectionCandidate {
  /** Unique to this run of the process. */
  readonly identity: string
  /** How long other candidates wait after our last renewal before they take over. */
  readonly leaseDurationMs: number
}

/** A candidate's next step. `wait`: the Lease expires in `ms` unless the holder renews it. */
type ElectionStep =
  | { readonly kind: 'create' }
  | { readonly kind: 'renew' }
  | { readonly kind: 'takeOver' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'wait'; readonly ms: number }

/**
 * The next step for a Lease. The Lease expires its own leaseDurationSeconds after this process saw its last change,
 * so clock skew does no harm.
 *
 * @param leading whether the candidate leads: then it never takes back a Lease that another candidate has taken
 */
export function electionStep(
  { spec, sinceMs }: ObservedLease,
  { identity, leaseDurationMs }: ElectionCandidate,
  leading: boolean,
  nowMs: number,
): ElectionStep {
  if (spec === null) return { kind: 'create' }
  if (spec.holderIdentity === identity) return { kind: 'renew' }
  if (leading) return { kind: 'lost' }
  if (!spec.holderIdentity) return { kind: 'takeOver' }
  const { leaseDurationSeconds } = spec
  const heldForMs = leaseDurationSeconds ? leaseDurationSeconds * 1000 : leaseDurationMs
  const leftMs = sinceMs + heldForMs - nowMs
  return leftMs > 0 ? { kind: 'wait', ms: leftMs } : { kind: 'takeOver' }
}

/** The observed Lease after another read. Unchanged content keeps its time. */
export function observe(
  before: ObservedLease,
  spec: LeaseSpec | null,
  nowMs: number,
): ObservedLease {
  const same = JSON.stringify(before.spec) === JSON.stringify(spec)
  return same ? before : { spec, sinceMs: nowMs }
}

/**
 * The spec to write when the candidate creates, renews or takes over the Lease.
 *
 * @param before the present spec; null = no Lease
 * @param nowMs wall clock, for readers of the Lease
 */
export function leaseHeldBy(
  before: LeaseSpec | null,
  { identity, leaseDurationMs }: ElectionCandidate,
  nowMs: number,
): LeaseSpec {
  const now = formatMicroTime(nowMs)
  const ours = before?.holderIdentity === identity
  const transitions = before?.leaseTransitions ?? 0
  return {
    holderIdentity: identity,
    // Rounded up: other candidates must never wait less than we assume.
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
    acquireTime: (ours && before.acquireTime) || now,
    renewTime: now,
    leaseTransitions: before === null || ours ? transitions : transitions + 1,
  }
}

/** The spec to write when the holder releases the Lease, so that any candidate may take it at once. */
export function releasedLease(before: LeaseSpec, nowMs: number): LeaseSpec {
  const now = formatMicroTime(nowMs)
  const { leaseTransitions = 0 } = before
  return {
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: now,
    renewTime: now,
    leaseTransitions,
  }
}
