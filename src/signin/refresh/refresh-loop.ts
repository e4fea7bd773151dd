// Asks providers again about everybody who has signed in, at the replica that leads (contract 25.7): the most overdue session
// first, ten a second at most, and ten at one provider at a time, so that a slow provider delays only its own people.
import type { Secret } from '../../api/objects.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { sleep } from '../../runtime/clock.ts'
import { Rounds } from '../../runtime/concurrency/rounds.ts'
import type { ProviderRefresh } from '../providers/provider.ts'
import { sessionIn } from '../sessions/session.ts'
import type { FollowedSignInSettings, SignInState } from '../settings.ts'
import {
  type DueSession,
  type RefreshDeps,
  type RefreshResult,
  refreshSession,
} from './refresh-session.ts'
import { RefreshSchedule, type ScheduledSession } from './schedule.ts'

/** Reports refreshes, for metrics. */
export interface RefreshObserver {
  /** @param kind of the provider, never the id of a connector */
  readonly refreshed: (kind: string, result: RefreshResult) => void
  readonly overdue: (seconds: number) => void
}

/** Options of refreshSessions. */
interface RefreshOptions extends RefreshDeps {
  readonly secrets: Store<FullObject<Secret>>
  readonly settings: FollowedSignInSettings
  /** `--identity-refresh-interval`, in milliseconds. */
  readonly intervalMs: number
  readonly observer: RefreshObserver
  /** Ends the work; refreshes that are under way go on until `drain`. */
  readonly signal: AbortSignal
}

/** The refreshes of this process. */
interface Refreshes {
  /** Waits for those that are under way, so that no token gets lost; ends them when it takes too long. */
  readonly drain: () => Promise<void>
}

/** Ten a second. */
const PACE_MS = 100
const PLACES_OF_PROVIDER = 10
const IDLE_MS = 60_000
/** Until the watch has delivered what was just written. */
const SETTLE_MS = 1000
/** While the API server is away. */
const RETRY_MS = 60_000
const DRAINED_WITHIN_MS = 10_000

/** Refreshes until the signal aborts. */
export function refreshSessions(options: RefreshOptions): Refreshes {
  const loop = new RefreshLoop(options)
  void loop.run()
  return { drain: () => loop.drain() }
}

class RefreshLoop {
  readonly #options: RefreshOptions
  readonly #schedule: RefreshSchedule
  readonly #rounds: Rounds
  /** By name of the session: the provider, and the end. */
  readonly #underWay = new Map<string, { readonly provider: string; readonly end: Promise<void> }>()
  readonly #ending = new AbortController()

  constructor(options: RefreshOptions) {
    const { secrets, settings, intervalMs, clock } = options
    this.#options = options
    this.#schedule = new RefreshSchedule(intervalMs, clock)
    this.#rounds = new Rounds(options)
    const wake = (): void => this.#rounds.wake()
    this.#schedule.follow(secrets, wake)
    settings.subscribe(wake)
  }

  async run(): Promise<void> {
    const { clock, signal, observer } = this.#options
    await this.#rounds.run(async () => {
      const overdueMs = this.#schedule.overdueMs(
        (one) => this.#provider(one) !== null,
        clock.nowMs(),
      )
      observer.overdue(overdueMs / 1000)
      const busy = this.#busyProviders()
      const next = this.#schedule.next(
        (one) =>
          !this.#underWay.has(one.name) && !busy.has(one.provider) && this.#provider(one) !== null,
      )
      if (next === null) return IDLE_MS
      const waitMs = next.nextMs - clock.nowMs()
      if (waitMs > 0) return Math.min(waitMs, IDLE_MS)
      this.#begin(next)
      await sleep(clock, PACE_MS, signal)
      return 0
    })
  }

  async drain(): Promise<void> {
    const { clock } = this.#options
    const ends = Promise.all([...this.#underWay.values()].map(({ end }) => end))
    const late = sleep(clock, DRAINED_WITHIN_MS, this.#ending.signal)
    await Promise.race([ends, late])
    this.#ending.abort()
    await ends
  }

  #state(): SignInState | null {
    return this.#options.settings.current()
  }

  /** How the account of a session is asked about; null = it is not, by the settings of now. */
  #provider({ provider, subject }: ScheduledSession): ProviderRefresh | null {
    const refresh = this.#state()?.providers.get(provider)?.refresh
    return refresh?.knows(subject) ? refresh : null
  }

  /** Those that have no place left. */
  #busyProviders(): ReadonlySet<string> {
    const taken = new Map<string, number>()
    for (const { provider } of this.#underWay.values())
      taken.set(provider, (taken.get(provider) ?? 0) + 1)
    const full = [...taken].filter(([, places]) => places >= PLACES_OF_PROVIDER)
    return new Set(full.map(([provider]) => provider))
  }

  #begin(session: ScheduledSession): void {
    const { name, provider } = session
    const end = this.#refresh(session).finally(() => {
      this.#underWay.delete(name)
      this.#rounds.wake()
    })
    this.#underWay.set(name, { provider, end })
  }

  /** Never rejects. */
  async #refresh(scheduled: ScheduledSession): Promise<void> {
    const { clock, warn, observer } = this.#options
    const { name } = scheduled
    const due = this.#due(scheduled)
    this.#schedule.postpone(name, clock.nowMs() + RETRY_MS)
    if (due === null) return
    const kind = due.state.providers.get(scheduled.provider)?.kind ?? ''
    try {
      const result = await refreshSession(due, this.#options, this.#ending.signal)
      observer.refreshed(kind, result)
      this.#schedule.postpone(name, clock.nowMs() + SETTLE_MS)
    } catch (err) {
      observer.refreshed(kind, 'failed')
      warn('stored', { err, session: name }, 'what a sign-in provider says cannot be stored')
    }
  }

  /** The session with all that it is asked by; null = that has changed since. */
  #due(scheduled: ScheduledSession): DueSession | null {
    const { secrets, namespace } = this.#options
    const secret = secrets.get(scheduled.name, namespace)?.object
    const session = secret && sessionIn(secret)
    const provider = this.#provider(scheduled)
    const state = this.#state()
    if (!secret || !session || provider === null || state === null) return null
    const { refresh, keyUid, tokens } = session
    if (refresh === null || keyUid === null || !provider.isPossible(tokens)) return null
    return { stored: { session, secret }, refresh, keyUid, state, provider }
  }
}
