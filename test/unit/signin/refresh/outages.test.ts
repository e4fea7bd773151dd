import { describe, expect, it } from 'vitest'
import type { User } from '../../../../src/api/user.gen.ts'
import { SignInRefused } from '../../../../src/domain/signin/refusals.ts'
import type { ProviderTokens } from '../../../../src/signin/providers/provider.ts'
import {
  NO_TOKENS,
  sessionSecret,
  type SignInSession,
} from '../../../../src/signin/sessions/session.ts'
import { goneIn, reportIn } from '../../../support/signin/identity-reports.ts'
import { NAMESPACE, stateWith, storedIn } from '../../../support/signin/leader.ts'
import {
  AWAY,
  INTERVAL_MS,
  LATEST_MS,
  REFRESHED,
  RotatingProvider,
  refreshed,
  refreshing,
  untilAsked,
} from '../../../support/signin/refreshes.ts'
import { NAME, START_MS, storedSession } from '../../../support/signin/stored-session.ts'

const groupsOf = ({ cluster }: ReturnType<typeof refreshing>) =>
  (cluster.object('User', 'ada') as User).status?.groups ?? []
const DEV = { connector: 'oidc', name: 'dev' }

describe('a provider that does not answer (25.7, SM)', () => {
  it.each([23, 25])('for %i hours changes nothing, and is asked again', async (hours) => {
    const world = refreshing()
    world.rotating.fault = AWAY
    world.user({}, [DEV])
    world.loop()
    await world.clock.advance(hours * 3_600_000)
    expect([reportIn(world.cluster), groupsOf(world)]).toEqual([null, [DEV]])
    expect(storedIn(world.cluster)?.endedMs).toBeNull()
    expect(world.rotating.asks.length).toBeGreaterThan(hours - 2)
    expect(world.rotating.asks.length).toBeLessThan(hours + 8)
    expect(world.overdue.at(-1)).toBeGreaterThan((hours - 2) * 3600)
    world.rotating.fault = null
    await world.clock.advance(INTERVAL_MS)
    expect(reportIn(world.cluster)?.refreshed?.atMs).toBeGreaterThan(START_MS + hours * 3_600_000)
    await world.clock.advance(0)
    expect(world.overdue.at(-1)).toBe(0)
  })

  it('is asked after 1, 2, 4 … minutes', async () => {
    const world = await refreshed(({ rotating }) => {
      rotating.fault = AWAY
    })
    const before = world.rotating.asks.length
    expect(before).toBeGreaterThanOrEqual(1)
    await world.clock.advance(INTERVAL_MS)
    expect(world.rotating.asks.length - before).toBeLessThanOrEqual(6)
  })

  it('whose token has ended by its time means that the person signs in again', async () => {
    const tokens = { ...REFRESHED.tokens, refreshEndsMs: START_MS + 120_000 } as ProviderTokens
    const world = refreshing({ tokens })
    world.rotating.fault = new SignInRefused('provider_unusable', 'x')
    world.loop()
    await world.clock.advance(120_000)
    expect(world.rotating.asks).toEqual(['secret-0', 'secret-0'])
    world.rotating.fault = null
    world.rotating.close()
    await world.clock.advance(INTERVAL_MS)
    expect(goneIn(world.cluster)).toBe('SignInAgain')
  })

  it('with its groups keeps the new token all the same', async () => {
    const world = await refreshed(({ rotating }) => {
      rotating.lateFault = new SignInRefused('groups_unreadable', 'the list')
    })
    const { length } = world.rotating.asks
    expect(storedIn(world.cluster)?.tokens.refreshToken).toBe(`secret-${length}`)
    world.rotating.lateFault = null
    await world.clock.advance(INTERVAL_MS)
    expect(reportIn(world.cluster)?.refreshed).not.toBeNull()
  })

  it('is given up after a minute, however long it takes', async () => {
    const world = refreshing()
    world.rotating.delay = new Promise(() => undefined)
    world.loop()
    await untilAsked(world)
    await world.clock.advance(59_000)
    expect(world.results).toEqual([])
    await world.clock.advance(1000)
    expect(world.results).toEqual(['oidc failed'])
  })

  it('after it gave a new token leaves no doubt of that one', async () => {
    const world = await refreshed(({ rotating }) => {
      rotating.lateFault = AWAY
    })
    world.rotating.close()
    await world.clock.advance(INTERVAL_MS)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
  })

  it('leaves no doubt of a token that is never replaced, such as of GitHub', async () => {
    const world = refreshing({ tokens: { ...NO_TOKENS, accessToken: 'secret-access' } })
    world.rotating.fault = AWAY
    world.loop()
    await world.clock.advance(LATEST_MS)
    world.rotating.fault = null
    await world.clock.advance(INTERVAL_MS)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
  })

  it('leaves in doubt what an answer may have had that never came, whatever it says later (SL)', async () => {
    const world = await refreshed(({ rotating }) => {
      rotating.fault = AWAY
    })
    world.rotating.fault = new SignInRefused('provider_unusable', 'x')
    await world.clock.advance(INTERVAL_MS)
    expect(world.rotating.asks.length).toBeGreaterThan(3)
    world.rotating.fault = null
    world.rotating.close()
    await world.clock.advance(INTERVAL_MS)
    expect(goneIn(world.cluster)).toBe('SignInAgain')
  })

  it.each([
    ['not at all', AWAY, 'SignInAgain'],
    ['that the client is wrong', new SignInRefused('provider_unusable', 'x'), 'IdentityGone'],
  ])('but said last %s: a token that has ended then means this', async (_, fault, reason) => {
    const world = await refreshed(({ rotating }) => {
      rotating.fault = fault
    })
    world.rotating.fault = null
    world.rotating.close()
    await world.clock.advance(INTERVAL_MS)
    expect(goneIn(world.cluster)).toBe(reason)
  })

  it('delays only its own people', async () => {
    const world = refreshing({ provider: 'other' })
    const silent = new RotatingProvider()
    silent.delay = new Promise(() => undefined)
    world.user({ identities: [{ connector: 'other', subject: storedSession().subject }] })
    world.around.state = stateWith({
      providers: new Map([
        ['oidc', silent.provider()],
        ['other', world.rotating.provider('other')],
      ]),
    })
    putSessions(world, 50, { provider: 'oidc', refresh: { ...due, confirmedMs: 0 } })
    world.loop()
    await world.clock.advance(LATEST_MS)
    expect(world.rotating.asks).toEqual(['secret-0'])
  })
})

const due = { confirmedMs: START_MS, askedMs: null, failures: 0, isUnanswered: false }

function putSessions(
  { cluster }: ReturnType<typeof refreshing>,
  count: number,
  differs: Partial<SignInSession>,
): void {
  for (let at = 0; at < count; at += 1) {
    const digits = at.toString(2).padStart(26, '0').replaceAll('0', 'c').replaceAll('1', 'b')
    const session = storedSession({ ...REFRESHED, name: `login-${digits}`, ...differs })
    cluster.put(sessionSecret(session, NAMESPACE) as never)
  }
}

describe('many sessions (25.7)', () => {
  it('are ten at a time at a provider that is slow', async () => {
    const world = refreshing()
    const answer = Promise.withResolvers<void>()
    world.rotating.delay = answer.promise
    putSessions(world, 50, { refresh: { ...due, confirmedMs: START_MS - 2 * INTERVAL_MS } })
    world.loop()
    await world.clock.advance(50_000)
    expect(world.rotating.asks).toHaveLength(10)
    answer.resolve()
    await world.clock.advance(1000)
    expect(world.rotating.asks.length).toBeGreaterThan(15)
  })

  it('are asked for ten a second at most, the most overdue first', async () => {
    const world = refreshing({ refresh: { ...due, confirmedMs: START_MS - 9 * INTERVAL_MS } })
    putSessions(world, 1000, { refresh: { ...due, confirmedMs: START_MS - 2 * INTERVAL_MS } })
    const order: string[] = []
    world.cluster.before = ({ verb, kind, name }) => {
      if (verb === 'replace' && kind === 'Secret' && !order.includes(name)) order.push(name)
    }
    world.loop()
    await world.clock.advance(10_000)
    expect(order[0]).toBe(NAME)
    expect(world.rotating.asks.length).toBeGreaterThan(90)
    expect(world.rotating.asks.length).toBeLessThanOrEqual(101)
  })
})
