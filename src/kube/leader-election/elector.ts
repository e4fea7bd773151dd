// Leader election as in client-go: one manager leads, the others are standby (contract 8.1). A guard refuses writes
// of a process whose leadership has expired (contract 8.6).
import { LEASES } from '../../api/names.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { NotLeaderError } from '../client/api-error.ts'
import type { KubeClient } from '../client/client.ts'
import {
  type Lease,
  type LeaseSpec,
  type ObservedLease,
  electionStep,
  leaseHeldBy,
  observe,
  releasedLease,
} from './rules.ts'

/** Timing of leader election, in milliseconds (contract 8.1). */
export interface LeaderElectionSettings {
  /** How long a standby replica waits before it takes over a Lease that is not renewed. At least a second. */
  readonly leaseDurationMs: number
  /** How long the leader tries to renew the Lease before it exits. Below the lease duration. */
  readonly renewDeadlineMs: number
  /** Pause between attempts. */
  readonly retryPeriodMs: number
}

/** Options of a candidate. Its client must not have the guard on writes. */
interface ElectionOptions extends LeaseLockOptions, LeaderElectionSettings {
  /** Unique to this run of the process. */
  readonly identity: string
  readonly log: Log
}

/** The candidacy of this process. Lost leadership is never regained. */
interface LeaderElection {
  /** Resolves when this process becomes the leader. Never rejects. */
  readonly acquired: Promise<void>
  /** Resolves when leadership is lost without `release`: the process must end. Never rejects. */
  readonly lost: Promise<void>
  /**
   * Returns as long as the last renewal was sent within the renew deadline. Other candidates wait longer than that,
   * so a suspended process is refused before another one leads.
   *
   * @throws NotLeaderError otherwise
   */
  mayWrite(): void
  /**
   * Ends the candidacy and releases the Lease, so that another candidate can lead at once. Call it after the last
   * write. Never rejects: a Lease that can't be released expires.
   */
  release(): Promise<void>
}

/** Joins the election. */
export function runLeaderElection(options: ElectionOptions): LeaderElection {
  return new Elector(options)
}

/** Jitter factor of client-go: candidates that failed at the same time retry at different times. */
const JITTER = 1.2

class Elector implements LeaderElection {
  readonly #options: ElectionOptions
  readonly #log: Log
  readonly #lock: LeaseLock
  readonly #acquired = Promise.withResolvers<void>()
  readonly #lost = Promise.withResolvers<void>()
  readonly acquired = this.#acquired.promise
  readonly lost = this.#lost.promise
  readonly #ending = new AbortController()
  readonly #running: Promise<void>
  #phase: 'standby' | 'leading' | 'over' = 'standby'
  #view: ObservedLease
  /** The Lease as last written by this process, to renew it without a read; null = it may have changed. */
  #written: Lease | null = null
  #leadsUntilMs = 0
  /** Whether the current series of failures has been logged. */
  #hasWarned = false

  constructor(options: ElectionOptions) {
    this.#options = options
    this.#log = options.log.child({ lease: options.ref })
    this.#lock = createLeaseLock(options)
    this.#view = { spec: null, sinceMs: options.clock.monotonicMs() }
    this.#running = this.#run()
  }

  mayWrite(): void {
    if (this.#phase !== 'leading' || this.#remainingMs() <= 0) throw new NotLeaderError()
  }

  async release(): Promise<void> {
    this.#phase = 'over'
    this.#ending.abort()
    await this.#running
    try {
      await this.#releaseLease(this.#written).catch(() => this.#releaseLease(null))
    } catch (err) {
      this.#log.warn({ err }, 'could not release the lease')
    }
  }

  async #run(): Promise<void> {
    while (this.#phase !== 'over') {
      const waitMs = await this.#attempt()
      await sleep(this.#options.clock, waitMs, this.#ending.signal)
    }
  }

  /** Tries to acquire or renew the Lease. @returns the milliseconds until the next attempt */
  async #attempt(): Promise<number> {
    const { retryPeriodMs } = this.#options
    const written = this.#written
    this.#written = null
    try {
      const waitMs = await this.#tryLease(
        written ?? (await this.#lock.read(this.#requestLimitMs())),
      )
      this.#hasWarned = false
      return waitMs
    } catch (err) {
      if (this.#phase === 'leading' && this.#remainingMs() <= 0) return this.#markLost(err)
      // The Lease may have been edited without a new holder: read it again at once.
      if (written) return 0
      this.#warn(err)
      return this.#phase === 'leading'
        ? Math.min(retryPeriodMs, this.#remainingMs())
        : this.#jitteredRetryMs()
    }
  }

  #warn(err: unknown): void {
    const sentence = 'could not acquire or renew the lease, trying again'
    if (this.#hasWarned) this.#log.debug({ err }, sentence)
    else this.#log.warn({ err }, sentence)
    this.#hasWarned = true
  }

  async #tryLease(lease: Lease | null): Promise<number> {
    const { clock, renewDeadlineMs, retryPeriodMs } = this.#options
    const leading = this.#phase === 'leading'
    this.#recordView(lease)
    const sentAtMs = clock.monotonicMs()
    const step = electionStep(this.#view, this.#options, leading, sentAtMs)
    if (step.kind === 'lost') return this.#markLost(new Error('the lease is not ours any more'))
    if (step.kind === 'wait') return Math.min(this.#jitteredRetryMs(), step.ms)
    const reason = leading ? 'renew' : 'acquire'
    const ours = leaseHeldBy(this.#view.spec, this.#options, clock.nowMs())
    this.#written = await this.#lock.write(lease, ours, reason, this.#requestLimitMs())
    if (this.#ending.signal.aborted) return 0
    this.#leadsUntilMs = sentAtMs + renewDeadlineMs
    this.#phase = 'leading'
    if (!leading) this.#log.info({}, 'acquired the lease, this process leads')
    this.#acquired.resolve()
    return retryPeriodMs
  }

  #markLost(err: unknown): number {
    this.#phase = 'over'
    const holder = this.#view.spec?.holderIdentity
    this.#log.error({ holder, err }, 'lost the lease')
    this.#lost.resolve()
    return 0
  }

  async #releaseLease(written: Lease | null): Promise<void> {
    const { clock, identity } = this.#options
    const lease = written ?? (await this.#lock.read(this.#requestLimitMs()))
    if (lease?.spec?.holderIdentity !== identity) return
    const spec = releasedLease(lease.spec, clock.nowMs())
    await this.#lock.write(lease, spec, 'release', this.#requestLimitMs())
    this.#log.info({}, 'released the lease')
  }

  #recordView(lease: Lease | null): void {
    const before = this.#view.spec?.holderIdentity
    this.#view = observe(this.#view, lease?.spec ?? null, this.#options.clock.monotonicMs())
    const holder = this.#view.spec?.holderIdentity
    if (!holder || holder === before || holder === this.#options.identity) return
    this.#log.info({ holder }, 'another process leads')
  }

  /** Time limit of one request: half the renew deadline, so that one dead connection does not lose the leadership. */
  #requestLimitMs(): number {
    const halfMs = this.#options.renewDeadlineMs / 2
    return this.#phase === 'leading' ? Math.min(halfMs, this.#remainingMs()) : halfMs
  }

  #remainingMs(): number {
    return this.#leadsUntilMs - this.#options.clock.monotonicMs()
  }

  #jitteredRetryMs(): number {
    return this.#options.retryPeriodMs * (1 + Math.random() * JITTER)
  }
}

// Reads and writes the Lease of an election. Every request has a time limit: it must not hang for longer than the
// leadership lasts.

/** Why a Lease is written, for metrics. */
export const LEASE_WRITE_REASONS = ['acquire', 'renew', 'release'] as const

/** Reads and writes one Lease, each with `limitMs` for the response. A rejection is a failed attempt. */
interface LeaseLock {
  /** Reads the Lease; null = it does not exist. */
  read(limitMs: number): Promise<Lease | null>
  /**
   * Creates the Lease if `before` is null, else replaces it unless it has changed since.
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

/** Options of a LeaseLock. */
interface LeaseLockOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly ref: { readonly namespace: string; readonly name: string }
}

const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }

/** Access to the Lease of that name, which may not exist. */
function createLeaseLock({ client, clock, ref }: LeaseLockOptions): LeaseLock {
  return {
    read: (limitMs) => responseWithin(clock, limitMs, () => client.get<Lease>(LEASES, ref)),
    write: (before, spec, reason, limitMs) =>
      responseWithin(clock, limitMs, () =>
        before === null
          ? client.create<Lease>(LEASES, { ...LEASE, metadata: ref, spec }, reason)
          : client.replace<Lease>(LEASES, { ...before, spec }, reason),
      ),
  }
}

/**
 * The response, if it is read within the limit. A process that was suspended may read a response late that arrived in
 * time: that one is ignored too.
 *
 * @throws Error when no response was read in time
 */
async function responseWithin<T>(
  clock: Clock,
  limitMs: number,
  send: () => Promise<T>,
): Promise<T> {
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
