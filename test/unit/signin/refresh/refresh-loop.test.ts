import { describe, expect, it } from 'vitest'
import type { User } from '../../../../src/api/user.gen.ts'
import { SignInRefused } from '../../../../src/domain/signin/refusals.ts'
import type { ProviderTokens } from '../../../../src/signin/providers/provider.ts'
import { sessionSecret, type SignInSession } from '../../../../src/signin/sessions/session.ts'
import { goneIn, reportIn } from '../../../support/signin/identity-reports.ts'
import { NAMESPACE, stateWith, storedIn } from '../../../support/signin/leader.ts'
import {
  AWAY,
  INTERVAL_MS,
  LATEST_MS,
  REFRESHED,
  RotatingProvider,
  refreshing,
} from '../../../support/signin/refreshes.ts'
import { NAME, START_MS, storedSession } from '../../../support/signin/stored-session.ts'

const groupsOf = ({ cluster }: ReturnType<typeof refreshing>) =>
  (cluster.object('User', 'ada') as User).status?.groups ?? []
const DEV = { connector: 'oidc', name: 'dev' }
const named = (...names: readonly string[]) => ({
  groups: names.map((name) => ({ name, displayName: null })),
})

/** A world whose loop has run until the session had its turn. */
async function refreshed(set: (world: ReturnType<typeof refreshing>) => void = () => undefined) {
  const world = refreshing()
  set(world)
  world.loop()
  await world.clock.advance(LATEST_MS)
  return world
}

describe('a refresh (25.7)', () => {
  it('comes after the interval, give or take a tenth', async () => {
    const { loop, clock, rotating } = refreshing()
    loop()
    await clock.advance(INTERVAL_MS * 0.9 - 1)
    expect(rotating.asks).toEqual([])
    await clock.advance(INTERVAL_MS * 0.2 + 1)
    expect(rotating.asks).toEqual(['secret-0'])
  })

  it('comes again and again, each time with the newest token', async () => {
    const { clock, rotating } = await refreshed()
    await clock.advance(3 * INTERVAL_MS)
    expect(rotating.asks.length).toBeGreaterThan(2)
    expect(rotating.asks).toEqual(rotating.asks.map((_, at) => `secret-${at}`))
  })

  it('says that it asks, then stores tokens, identity, groups, Teams, and that it is done (SL)', async () => {
    const { cluster } = await refreshed(({ rotating }) => {
      rotating.identity = named('dev')
    })
    const writes = cluster.calls.filter((call) => !call.startsWith('get'))
    expect(writes).toEqual([
      `replace Secret ${NAME}`,
      `replace Secret ${NAME}`,
      `create ConfigMap ${NAME}`,
      'patch User ada',
      expect.stringMatching(/^create Team oidc-dev-/),
      `replace Secret ${NAME}`,
    ])
  })

  it('reports what the provider says now, for the key', async () => {
    const { cluster } = await refreshed(({ rotating }) => {
      rotating.identity = { ...named('dev'), email: 'ada@example.com', emailVerified: true }
    })
    expect(reportIn(cluster)).toEqual({
      keyUid: 'uid-key',
      refreshed: {
        atMs: expect.closeTo(START_MS + INTERVAL_MS, -6),
        identity: {
          connector: 'oidc',
          userId: '1',
          username: 'ada',
          email: 'ada@example.com',
          emailVerified: true,
          groups: ['dev'],
        },
      },
      gone: null,
    })
    expect(cluster.object('ConfigMap', NAME)?.metadata).toMatchObject({
      labels: { 'management.platform.sh/identity-report': 'true' },
      ownerReferences: [{ kind: 'OwnedAccessKey', name: NAME, uid: 'uid-key' }],
    })
  })

  it('writes groups of its connector, and no User whose groups are the same', async () => {
    const set = (world: ReturnType<typeof refreshing>): void => {
      world.user({}, [DEV, { connector: 'saml', name: 'ops' }])
      world.rotating.identity = named('dev')
    }
    const same = await refreshed(set)
    expect(same.cluster.calls).not.toContain('patch User ada')
    same.rotating.identity = named('new')
    await same.clock.advance(LATEST_MS)
    expect(groupsOf(same)).toEqual([
      { connector: 'saml', name: 'ops' },
      { connector: 'oidc', name: 'new' },
    ])
  })

  it('is none of a session without a key, one that is over, and one that is not refreshed', async () => {
    for (const differs of [{ keyUid: null }, { endedMs: START_MS }, { refresh: null }]) {
      const { loop, clock, rotating } = refreshing(differs)
      loop()
      await clock.advance(3 * INTERVAL_MS)
      expect(rotating.asks).toEqual([])
    }
  })

  it('shows no token in the log', async () => {
    const world = await refreshed(({ rotating }) => {
      rotating.fault = AWAY
    })
    world.rotating.close()
    world.rotating.fault = null
    await world.clock.advance(INTERVAL_MS)
    expect(goneIn(world.cluster)).not.toBeNull()
    expect(JSON.stringify(world.lines)).not.toContain('secret-')
    expect(JSON.stringify(world.cluster.object('ConfigMap', NAME))).not.toContain('secret-')
  })
})

describe('a person who is gone at the provider (25.7, SM)', () => {
  const gone = async (set: (world: ReturnType<typeof refreshing>) => void) => {
    const world = await refreshed(set)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
    expect(storedIn(world.cluster)).toMatchObject({
      endedMs: expect.any(Number),
      tokens: { refreshToken: null, accessToken: null, idToken: null },
    })
    return world
  }

  it('ends the key for good, and the provider is not asked again', async () => {
    const { clock, rotating, cluster, results } = await gone((world) => world.rotating.close())
    expect(results).toEqual(['oidc identity_gone'])
    await clock.advance(5 * INTERVAL_MS)
    expect([rotating.asks.length, goneIn(cluster)]).toEqual([1, 'IdentityGone'])
  })

  it('has no groups any more when none is left that the provider demands', async () => {
    const world = await gone(({ rotating, user }) => {
      user({}, [DEV, { connector: 'saml', name: 'ops' }])
      rotating.lateFault = new SignInRefused('groups_required', 'none of groups is there')
    })
    expect(groupsOf(world)).toEqual([{ connector: 'saml', name: 'ops' }])
  })

  it('keeps the groups for another session where only this token has ended', async () => {
    const world = await gone(({ rotating, user }) => {
      user({}, [DEV])
      rotating.close()
    })
    expect(groupsOf(world)).toEqual([DEV])
  })

  it('is another account under the same token', async () => {
    const world = await gone(({ rotating }) => {
      rotating.identity = { subject: 'https://provider.example#2', ...named('root') }
    })
    expect(groupsOf(world)).toEqual([])
    expect(reportIn(world.cluster)?.refreshed).toBeNull()
  })

  it('is one whose account has left identities of the User', async () => {
    const world = await gone(({ user }) => user({ identities: [] }))
    expect(world.results).toEqual(['oidc identity_gone'])
  })
})

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
    world.rotating.fault = AWAY
    world.loop()
    await world.clock.advance(60_000)
    expect(world.rotating.asks).toEqual(['secret-0'])
    world.rotating.fault = new SignInRefused('provider_unusable', 'x')
    await world.clock.advance(60_000)
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

describe('a provider that is not in the settings (25.7)', () => {
  it.each([
    ['is removed', () => ({ state: stateWith({ providers: new Map() }), isSame: true })],
    ['is another one under the same id', () => ({ state: null, isSame: false })],
  ])('and %s gets no token, and is asked when it is back', async (_, change) => {
    const world = refreshing()
    const { state } = world.around
    const changed = change()
    world.around.state = changed.state ?? state
    world.rotating.isSame = changed.isSame
    world.loop()
    await world.clock.advance(LATEST_MS)
    expect(world.rotating.asks).toEqual([])
    world.around.state = state
    world.rotating.isSame = true
    await world.clock.advance(60_000)
    expect(world.rotating.asks).toEqual(['secret-0'])
    expect(reportIn(world.cluster)?.refreshed).not.toBeNull()
  })
})
