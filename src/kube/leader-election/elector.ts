// One manager acts, the others are standby (contract 8.1): leader election as in client-go, and a guard that
// stops writes of a process whose leadership has run out (contract 8.6).
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
  /** How long a standby replica waits before it takes a lease that is not renewed. At least a second. */
  readonly leaseDurationMs: number
  /** How long the leader tries to renew the lease before it exits. Below the lease duration. */
  readonly renewDeadlineMs: number
  /** Pause between attempts. */
  readonly retryPeriodMs: number
}

/** One candidate. It has a client of its own, without the guard on writes. */
interface ElectionOptions extends LeaseLockOptions, LeaderElectionSettings {
  /** Unique to this run of the process. */
  readonly identity: string
  readonly log: Log
}

/** One candidacy, from its start to its end. Leadership that is lost stays lost. */
export interface LeaderElection {
  /** Resolves when this process leads; else stays pending. Never rejects. */
  readonly acquired: Promise<void>
  /** Resolves when leadership is lost without `release`: the process must end. Never rejects. */
  readonly lost: Promise<void>
  /**
   * Passes while the last renewal, from when it was sent, is younger than the renew deadline. Other candidates
   * wait longer, so a process that was suspended is refused in time.
   *
   * @throws NotLeaderError otherwise
   */
  mayWrite(): void
  /**
   * Ends the candidacy and frees a Lease that we hold, so that another candidate can lead at once. Call it
   * after the last write. Never rejects: a Lease that can't be freed expires.
   */
  release(): Promise<void>
}

/** Joins the election. */
export function runLeaderElection(options: ElectionOptions): LeaderElection {
  return new Elector(options)
}

/** client-go's factor, so that candidates that failed together do not retry together. */
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
  /** The Lease as we wrote it last, to renew without a read; null = it may have changed. */
  #written: Lease | null = null
  #leadsUntilMs = 0
  /** Whether the current series of failures has been logged. */
  #isWarned = false

  constructor(options: ElectionOptions) {
    this.#options = options
    this.#log = options.log.child({ lease: options.ref })
    this.#lock = createLeaseLock(options)
    this.#view = { spec: null, sinceMs: options.clock.monotonicMs() }
    this.#running = this.#run()
  }

  mayWrite(): void {
    if (this.#phase !== 'leading' || this.#leftMs() <= 0) throw new NotLeaderError()
  }

  async release(): Promise<void> {
    this.#phase = 'over'
    this.#ending.abort()
    await this.#running
    try {
      await this.#free(this.#written).catch(() => this.#free(null))
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

  /** One try; returns the milliseconds until the next. */
  async #attempt(): Promise<number> {
    const { retryPeriodMs } = this.#options
    const written = this.#written
    this.#written = null
    try {
      const waitMs = await this.#act(written ?? (await this.#lock.read(this.#limitMs())))
      this.#isWarned = false
      return waitMs
    } catch (err) {
      if (this.#phase === 'leading' && this.#leftMs() <= 0) return this.#lose(err)
      // The Lease may have been edited without a new holder: read it again at once.
      if (written) return 0
      this.#warn(err)
      return this.#phase === 'leading' ? Math.min(retryPeriodMs, this.#leftMs()) : this.#jittered()
    }
  }

  #warn(err: unknown): void {
    const sentence = 'could not acquire or renew the lease, trying again'
    if (this.#isWarned) this.#log.debug({ err }, sentence)
    else this.#log.warn({ err }, sentence)
    this.#isWarned = true
  }

  async #act(lease: Lease | null): Promise<number> {
    const { clock, renewDeadlineMs, retryPeriodMs } = this.#options
    const leading = this.#phase === 'leading'
    this.#see(lease)
    const sentAtMs = clock.monotonicMs()
    const step = electionStep(this.#view, this.#options, leading, sentAtMs)
    if (step.kind === 'lost') return this.#lose(new Error('the lease is not ours any more'))
    if (step.kind === 'wait') return Math.min(this.#jittered(), step.ms)
    const reason = leading ? 'renew' : 'acquire'
    const ours = leaseHeldBy(this.#view.spec, this.#options, clock.nowMs())
    this.#written = await this.#lock.write(lease, ours, reason, this.#limitMs())
    if (this.#ending.signal.aborted) return 0
    this.#leadsUntilMs = sentAtMs + renewDeadlineMs
    this.#phase = 'leading'
    if (!leading) this.#log.info({}, 'acquired the lease, this process leads')
    this.#acquired.resolve()
    return retryPeriodMs
  }

  #lose(err: unknown): number {
    this.#phase = 'over'
    const holder = this.#view.spec?.holderIdentity
    this.#log.error({ holder, err }, 'lost the lease')
    this.#lost.resolve()
    return 0
  }

  async #free(written: Lease | null): Promise<void> {
    const { clock, identity } = this.#options
    const lease = written ?? (await this.#lock.read(this.#limitMs()))
    if (lease?.spec?.holderIdentity !== identity) return
    const spec = releasedLease(lease.spec, clock.nowMs())
    await this.#lock.write(lease, spec, 'release', this.#limitMs())
    this.#log.info({}, 'released the lease')
  }

  #see(lease: Lease | null): void {
    const before = this.#view.spec?.holderIdentity
    this.#view = observe(this.#view, lease?.spec ?? null, this.#options.clock.monotonicMs())
    const holder = this.#view.spec?.holderIdentity
    if (!holder || holder === before || holder === this.#options.identity) return
    this.#log.info({ holder }, 'another process leads')
  }

  /** Half the deadline for one request, so that one dead connection does not lose the leadership. */
  #limitMs(): number {
    const halfMs = this.#options.renewDeadlineMs / 2
    return this.#phase === 'leading' ? Math.min(halfMs, this.#leftMs()) : halfMs
  }

  #leftMs(): number {
    return this.#leadsUntilMs - this.#options.clock.monotonicMs()
  }

  #jittered(): number {
    return this.#options.retryPeriodMs * (1 + Math.random() * JITTER)
  }
}

// Reads and writes the Lease of an election. Every request has a time limit: an answer that hangs must not
// outlive leadership.

/** Why a Lease is written, for metrics. */
export const LEASE_WRITE_REASONS = ['acquire', 'renew', 'release'] as const

/** Reads and writes one Lease, with `limitMs` for the answer. A rejection is a failed try. */
interface LeaseLock {
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
interface LeaseLockOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly ref: { readonly namespace: string; readonly name: string }
}

const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }

/** The Lease of that name, existing or not. */
function createLeaseLock({ client, clock, ref }: LeaseLockOptions): LeaseLock {
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
