// Whose turn it is, decided from a Lease: the rules of client-go's leader election, without its I/O.
import type { KubeObject } from '../api/meta.ts'
import { microTime } from './micro-time.ts'

/** What a Lease says. No holder, or an empty one, means that it is free. */
export interface LeaseSpec {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  /** MicroTime; no elector compares it or renewTime with its own clock. */
  readonly acquireTime?: string
  readonly renewTime?: string
  /** How often the Lease went from one holder to another. */
  readonly leaseTransitions?: number
}

/** A Lease as the API server sends it. */
export type Lease = KubeObject<LeaseSpec>

/** The Lease and since when, by the local monotonic clock, it was seen to say just this. */
export interface LeaseView {
  /** null = there is no Lease. */
  readonly spec: LeaseSpec | null
  readonly sinceMs: number
}

/** One that takes part. */
export interface Candidate {
  /** Unique to this run of the process. */
  readonly identity: string
  /** How long others wait after our last renewal before they take over. */
  readonly leaseDurationMs: number
}

/** What a candidate does next. `wait`: the holder's time runs out in `ms` unless it renews. */
export type ElectionStep =
  | { readonly kind: 'create' }
  | { readonly kind: 'renew' }
  | { readonly kind: 'takeOver' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'wait'; readonly ms: number }

/**
 * Decides on a Lease as it stands. A holder's time counts from when we saw its last change, so clocks
 * that disagree do no harm, and it lasts as long as the holder itself said.
 *
 * @param leading whether the candidate leads; it then takes back no Lease that others had since
 */
export function decide(
  { spec, sinceMs }: LeaseView,
  { identity, leaseDurationMs }: Candidate,
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

/** The view after another look: what was seen before keeps its moment. */
export function seen(before: LeaseView, spec: LeaseSpec | null, nowMs: number): LeaseView {
  const same = JSON.stringify(before.spec) === JSON.stringify(spec)
  return same ? before : { spec, sinceMs: nowMs }
}

/**
 * What the candidate writes to create, renew or take over.
 *
 * @param before what stands there; null = no Lease
 * @param nowMs wall clock, for people to read
 */
export function held(
  before: LeaseSpec | null,
  { identity, leaseDurationMs }: Candidate,
  nowMs: number,
): LeaseSpec {
  const now = microTime(nowMs)
  const ours = before?.holderIdentity === identity
  const transitions = before?.leaseTransitions ?? 0
  return {
    holderIdentity: identity,
    // Rounded up: others must never wait for less than we count on.
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
    acquireTime: (ours && before.acquireTime) || now,
    renewTime: now,
    leaseTransitions: before === null || ours ? transitions : transitions + 1,
  }
}

/** What a holder writes that gives the Lease up: anybody may take it at once. */
export function released(before: LeaseSpec, nowMs: number): LeaseSpec {
  const now = microTime(nowMs)
  const { leaseTransitions = 0 } = before
  return {
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: now,
    renewTime: now,
    leaseTransitions,
  }
}
