// Refreshes of sessions, on a cluster in memory, at a provider that replaces each refresh token.
import { expect, onTestFinished } from 'vitest'
import { GrantEnded, SignInRefused } from '../../../src/domain/signin/refusals.ts'
import type {
  KnownAccount,
  ProviderIdentity,
  ProviderTokens,
  SignInProvider,
} from '../../../src/signin/providers/provider.ts'
import { type RefreshObserver, refreshSessions } from '../../../src/signin/refresh/refresh-loop.ts'
import { confirmedAt } from '../../../src/signin/sessions/refresh-state.ts'
import type { SignInSession } from '../../../src/signin/sessions/session.ts'
import { changeSession } from '../../../src/signin/sessions/writes.ts'
import { leader, NAMESPACE, stateWith } from './leader.ts'
import { NAME, START_MS, SUBJECT } from './stored-session.ts'
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
  /** The ID token of its answers; null = they have none. */
  newIdToken: string | null = null
  /** Whether its caller is told of the abort before it has answered. */
  isImpatient = false
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
        isPossible: ({ accessToken }) => accessToken !== null,
        ask: (account, keep, signal) => {
          const answer = this.#answer(account, keep)
          return this.isImpatient ? Promise.race([answer, abortOf(signal)]) : answer
        },
      },
    }
  }

  async #answer(
    { tokens: { refreshToken } }: KnownAccount,
    keep: (tokens: ProviderTokens) => Promise<void>,
  ): Promise<ProviderIdentity> {
    this.asks.push(refreshToken)
    await this.delay
    if (this.fault !== null) throw this.fault
    if (refreshToken !== this.#valid) throw new GrantEnded('the token endpoint says invalid_grant')
    this.#valid = `secret-${this.asks.length}`
    const tokens = { refreshToken: this.#valid, accessToken: 'secret-new', idToken: null }
    await keep(tokens)
    if (this.lateFault !== null) throw this.lateFault
    const verified = { ...tokens, idToken: this.newIdToken }
    return identityOf({ subject: SUBJECT, tokens: verified, ...this.identity })
  }

  /** As if the account had been closed. */
  close(): void {
    this.#valid = 'none'
  }
}

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(AWAY))
  })

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

/** Moves the clock until the provider is asked. */
export async function untilAsked({
  clock,
  rotating,
}: Pick<ReturnType<typeof refreshing>, 'clock' | 'rotating'>): Promise<void> {
  for (let ms = 0; ms < LATEST_MS && rotating.asks.length === 0; ms += 1000)
    await clock.advance(1000)
  expect(rotating.asks).toHaveLength(1)
}

/** Changes the session as another replica does. */
export async function changeStored(
  { cluster }: Pick<ReturnType<typeof refreshing>, 'cluster'>,
  changes: Partial<SignInSession>,
): Promise<void> {
  const { client } = cluster
  await changeSession(NAME, () => changes, 'end', { client, namespace: NAMESPACE })
}

/** A world whose loop has run until the session had its turn. */
export async function refreshed(
  set: (world: ReturnType<typeof refreshing>) => void = () => undefined,
) {
  const world = refreshing()
  set(world)
  world.loop()
  await world.clock.advance(LATEST_MS)
  return world
}
