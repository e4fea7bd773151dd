// Reads and writes the Lease of an election. Every request has a time limit: an answer that hangs must not
// outlive leadership.
import { LEASES } from '../../api/names.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { KubeClient } from '../client/client.ts'
import type { Lease, LeaseSpec } from './rules.ts'

/** Why a Lease is written, for metrics. */
export const LEASE_WRITE_REASONS = ['acquire', 'renew', 'release'] as const

/** Reads and writes one Lease, with `limitMs` for the answer. A rejection is a failed try. */
export interface LeaseLock {
  /** null = there is no Lease. */
  read(limitMs: number): Promise<Lease | null>
  /**
   * Creates the Lease (`before` null), or replaces it if it is unchanged since.
   *
   * @returns the Lease as stored
   */
  write(
    before: Lease | null,
    spec: LeaseSpec,
    reason: (typeof LEASE_WRITE_REASONS)[number],
    limitMs: number,
  ): Promise<Lease>
}

/** What access to the Lease needs. */
export interface LeaseLockOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly ref: { readonly namespace: string; readonly name: string }
}

const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }

/** The Lease of that name, existing or not. */
export function createLeaseLock({ client, clock, ref }: LeaseLockOptions): LeaseLock {
  return {
    read: (limitMs) => answerWithin(clock, limitMs, () => client.get<Lease>(LEASES, ref)),
    write: (before, spec, reason, limitMs) =>
      answerWithin(clock, limitMs, () =>
        before === null
          ? client.create<Lease>(LEASES, { ...LEASE, metadata: ref, spec }, reason)
          : client.replace<Lease>(LEASES, { ...before, spec }, reason),
      ),
  }
}

/**
 * The answer within the limit; a later one is ignored. An answer that arrived in time counts as none when
 * this process was suspended and reads it late.
 */
async function answerWithin<T>(clock: Clock, limitMs: number, send: () => Promise<T>): Promise<T> {
  const dueMs = clock.monotonicMs() + limitMs
  const isLate = (): boolean => clock.monotonicMs() >= dueMs
  if (isLate()) throw new Error('no time is left to send a request')
  const answered = new AbortController()
  try {
    const answer = await Promise.race([send(), sleep(clock, limitMs, answered.signal)])
    if (isLate()) throw new Error(`no answer within ${Math.round(limitMs)} ms`)
    return answer as T
  } finally {
    answered.abort()
  }
}
