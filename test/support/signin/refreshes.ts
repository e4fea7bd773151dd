// Refreshes of sessions, on a cluster in memory, at a provider that replaces each refresh token.
import { onTestFinished } from 'vitest'
import { GrantEnded, SignInRefused } from '../../../src/domain/signin/refusals.ts'
import type { ProviderIdentity, SignInProvider } from '../../../src/signin/providers/provider.ts'
import { type RefreshObserver, refreshSessions } from '../../../src/signin/refresh/refresh-loop.ts'
import { confirmedAt } from '../../../src/signin/sessions/refresh-state.ts'
import type { SignInSession } from '../../../src/signin/sessions/session.ts'
import { leader, stateWith } from './leader.ts'
import { START_MS, SUBJECT } from './stored-session.ts'
import { fakeProvider, identityOf } from './world.ts'

/** `--identity-refresh-interval`. */
export const INTERVAL_MS = 3_600_000
/** The longest that a refresh may come after the one before. */
export const LATEST_MS = INTERVAL_MS * 1.1

/** What makes a session one that is refreshed. */
export const REFRESHED: Partial<SignInSession> = {
  tokens: { refreshToken: 'secret-0', accessToken: 'secret-access', idToken: 'secret-id' },
  refresh: confirmedAt(START_MS),
}

/** A provider that takes each refresh token once. */
export class RotatingProvider {
  /** Of each call, the refresh token. */
  readonly asks: (string | null)[] = []
  /** Who the person is now. */
  identity: Partial<ProviderIdentity> = {}
  /** Thrown instead of an answer, before the token is taken; null = it answers. */
  fault: Error | null = null
  /** Thrown after the new tokens were given, as by a look-up; null = none. */
  lateFault: Error | null = null
  /** Awaited before the answer. */
  delay: Promise<void> = Promise.resolve()
  /** Whether the settings name the provider that vouched for the accounts. */
  isSame = true
  #valid = 'secret-0'

  /** The provider, as the settings set it up. */
  provider(id = 'oidc'): SignInProvider {
    return {
      ...fakeProvider(id, () => identityOf()),
      kind: 'oidc',
      refresh: {
        knows: () => this.isSame,
        isPossible: ({ refreshToken }) => refreshToken !== null,
        ask: async ({ tokens: { refreshToken } }, keep) => {
          this.asks.push(refreshToken)
          await this.delay
          if (this.fault !== null) throw this.fault
          if (refreshToken !== this.#valid)
            throw new GrantEnded('the token endpoint says invalid_grant')
          this.#valid = `secret-${this.asks.length}`
          const tokens = { refreshToken: this.#valid, accessToken: 'secret-new', idToken: null }
          await keep(tokens)
          if (this.lateFault !== null) throw this.lateFault
          return identityOf({ subject: SUBJECT, tokens, ...this.identity })
        },
      },
    }
  }

  /** As if the account had been closed. */
  close(): void {
    this.#valid = 'none'
  }
}

/** A provider that is away. */
export const AWAY = new SignInRefused('provider_unreachable', 'no answer of the provider')

/** A leader with a session that is refreshed, and the User who is its person. */
export function refreshing(differs: Partial<SignInSession> = {}) {
  const world = leader({ ...REFRESHED, ...differs })
  const rotating = new RotatingProvider()
  const results: string[] = []
  const overdue: number[] = []
  world.around.state = stateWith({ providers: new Map([['oidc', rotating.provider()]]) })
  world.user()
  world.follow()
  const observer: RefreshObserver = {
    refreshed: (kind, result) => void results.push(`${kind} ${result}`),
    overdue: (seconds) => void overdue.push(seconds),
  }
  const { cluster, clock, log, users } = world
  const people = {
    client: cluster.client,
    users,
    teams: { has: () => false, count: () => 0 },
    maxTeams: 2000,
    teamsFull: () => undefined,
    clock,
    log,
  }
  /** Starts the loop of a leader, whose signal ends with the test. */
  const loop = ({
    mayLead = () => undefined,
    secrets = world.secrets,
    stop = new AbortController(),
  } = {}) => {
    onTestFinished(() => stop.abort())
    return refreshSessions({
      ...world.shared,
      secrets,
      people,
      clock,
      intervalMs: INTERVAL_MS,
      observer,
      mayLead,
      warn: (_, fields, sentence) => log.warn(fields, sentence),
      signal: stop.signal,
    })
  }
  return { ...world, rotating, results, overdue, loop }
}
