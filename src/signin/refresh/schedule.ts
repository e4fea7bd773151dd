// Which session is refreshed next (contract 25.7): of each, only its times are kept in memory.
import type { Secret } from '../../api/objects.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isAhead, nextAskMs } from '../sessions/refresh-state.ts'
import { type SignInSession, sessionIn } from '../sessions/session.ts'

/** A session that is refreshed. */
export interface ScheduledSession extends Pick<SignInSession, 'name' | 'provider' | 'subject'> {
  /** When its provider is asked next, in epoch milliseconds. */
  readonly nextMs: number
  /** When its provider last vouched for the person, in epoch milliseconds. */
  readonly confirmedMs: number
}

/** The sessions that are refreshed, by their times. */
export class RefreshSchedule {
  readonly #sessions = new Map<string, ScheduledSession>()
  /** Epoch milliseconds, by name: what has just been tried, and is written by others or not at all now. */
  readonly #postponed = new Map<string, number>()
  readonly #intervalMs: number
  readonly #clock: Clock

  constructor(intervalMs: number, clock: Clock) {
    this.#intervalMs = intervalMs
    this.#clock = clock
  }

  /** Follows the Secrets of the sign-in namespace. @param changed after each change of a session */
  follow(secrets: Store<FullObject<Secret>>, changed: () => void): void {
    secrets.subscribe(({ name, after }) => {
      if (this.#set(name, after?.object)) changed()
    })
    for (const { object } of secrets.values()) this.#set(object.metadata.name, object)
  }

  /** @returns whether it is, or was, a session that is refreshed */
  #set(name: string, secret: Secret | undefined): boolean {
    const session = secret === undefined ? null : sessionIn(secret)
    if (session?.refresh == null || session.keyUid === null || session.endedMs !== null) {
      this.#postponed.delete(name)
      return this.#sessions.delete(name)
    }
    const { provider, subject, refresh, tokens } = session
    const nowMs = this.#clock.nowMs()
    const nextMs = isAhead(refresh, nowMs)
      ? nowMs
      : nextAskMs(name, refresh, this.#intervalMs, tokens.refreshEndsMs)
    const { confirmedMs } = refresh
    this.#sessions.set(name, { name, provider, subject, nextMs, confirmedMs })
    return true
  }

  /** Leaves a session alone until then, in epoch milliseconds, whatever its times say. */
  postpone(name: string, untilMs: number): void {
    if (this.#sessions.has(name)) this.#postponed.set(name, untilMs)
  }

  /** The session whose time comes, or came, first; null = there is none. */
  next(isAskable: (session: ScheduledSession) => boolean): ScheduledSession | null {
    let first: ScheduledSession | null = null
    for (const session of this.#sessions.values()) {
      const nextMs = Math.max(session.nextMs, this.#postponed.get(session.name) ?? 0)
      if (first !== null && nextMs >= first.nextMs) continue
      if (isAskable(session)) first = { ...session, nextMs }
    }
    return first
  }

  /** By how much the most overdue session has missed its interval, in milliseconds; 0 = none has. */
  overdueMs(isCounted: (session: ScheduledSession) => boolean, nowMs: number): number {
    let most = 0
    for (const session of this.#sessions.values()) {
      const overdueMs = nowMs - session.confirmedMs - this.#intervalMs * LATEST
      if (overdueMs > most && isCounted(session)) most = overdueMs
    }
    return most
  }
}

/** The longest interval, with its spread. */
const LATEST = 1.1
