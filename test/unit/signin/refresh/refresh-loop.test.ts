import { describe, expect, it } from 'vitest'
import type { User } from '../../../../src/api/user.gen.ts'
import { SignInRefused } from '../../../../src/domain/signin/refusals.ts'
import { NO_TOKENS } from '../../../../src/signin/sessions/session.ts'
import { endedSession } from '../../../../src/signin/sessions/writes.ts'
import { goneIn, reportIn } from '../../../support/signin/identity-reports.ts'
import { stateWith, storedIn } from '../../../support/signin/leader.ts'
import {
  AWAY,
  INTERVAL_MS,
  LATEST_MS,
  changeStored,
  refreshed,
  refreshing,
  untilAsked,
} from '../../../support/signin/refreshes.ts'
import { NAME, START_MS, SUBJECT } from '../../../support/signin/stored-session.ts'

const groupsOf = ({ cluster }: ReturnType<typeof refreshing>) =>
  (cluster.object('User', 'ada') as User).status?.groups ?? []
const NO_TEAMS = { auth: { disableTeamCreation: true } }
const ADA = [{ connector: 'oidc', subject: SUBJECT }]
const DEV = { connector: 'oidc', name: 'dev' }
const named = (...names: readonly string[]) => ({
  groups: names.map((name) => ({ name, displayName: null })),
})

describe('a refresh (25.7)', () => {
  it('comes after the interval, give or take a tenth', async () => {
    const { loop, clock, rotating, overdue } = refreshing()
    loop()
    await clock.advance(INTERVAL_MS * 0.9 - 1)
    expect(rotating.asks).toEqual([])
    await clock.advance(INTERVAL_MS * 0.2 + 1)
    expect(rotating.asks).toEqual(['secret-0'])
    expect(new Set(overdue)).toEqual(new Set([0]))
  })

  it('comes again and again, each time with the newest token', async () => {
    const { clock, rotating } = await refreshed()
    await clock.advance(3 * INTERVAL_MS)
    expect(rotating.asks.length).toBeGreaterThan(2)
    expect(rotating.asks).toEqual(rotating.asks.map((_, at) => `secret-${at}`))
  })

  it('keeps the ID token that was verified, for answers without one and for signing out', async () => {
    const world = await refreshed(({ rotating }) => {
      rotating.newIdToken = 'secret-new-id'
    })
    const { tokens } = storedIn(world.cluster) ?? {}
    expect(tokens).toMatchObject({ refreshToken: 'secret-1', idToken: 'secret-new-id' })
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

  it('makes no Teams where the settings forbid it (25.4)', async () => {
    const { cluster, results } = await refreshed(({ rotating, around }) => {
      rotating.identity = named('dev')
      around.state = { ...(around.state ?? stateWith()), settings: NO_TEAMS }
    })
    expect([cluster.all('Team'), results]).toEqual([[], ['oidc refreshed']])
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

  it('confirms no person while groupsFilters are unusable', async () => {
    const { cluster } = await refreshed(({ around }) => {
      around.state = { ...(around.state ?? stateWith()), groupFilter: null }
    })
    expect(reportIn(cluster)).toBeNull()
  })

  it('confirms no person with too many groups: the key would live on with those that are lost', async () => {
    const before = [DEV, { connector: 'saml', name: 'ops' }]
    const world = await refreshed(({ user, rotating }) => {
      user({ identities: [...ADA, { connector: 'saml', subject: 'x#1' }] }, before)
      rotating.identity = named(...Array.from({ length: 200 }, (_, at) => `group-${at}`))
    })
    expect([reportIn(world.cluster), groupsOf(world)]).toEqual([null, before])
    expect(world.results.at(-1)).toBe('oidc failed')
  })

  it('gives a session no tokens again that has ended meanwhile', async () => {
    const world = refreshing()
    const answer = Promise.withResolvers<void>()
    world.rotating.delay = answer.promise
    world.rotating.newIdToken = 'secret-new-id'
    world.loop()
    await untilAsked(world)
    await changeStored(world, endedSession(7))
    answer.resolve()
    await world.clock.advance(0)
    expect(storedIn(world.cluster)).toMatchObject({ endedMs: 7, tokens: NO_TOKENS })
  })

  it('is none of a session without a key, one that is over, one that is not refreshed, and one without tokens', async () => {
    for (const differs of [
      { keyUid: null },
      { endedMs: START_MS },
      { refresh: null },
      { tokens: NO_TOKENS },
    ]) {
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

  it('leaves another User of the name the groups', async () => {
    const world = await gone(({ cluster }) => {
      const metadata = { name: 'ada', uid: 'uid-other' }
      cluster.put({ kind: 'User', metadata, status: { groups: [DEV] } } as never)
    })
    expect(groupsOf(world)).toEqual([DEV])
  })

  it('is one whose account has left identities of the User', async () => {
    const world = await gone(({ user }) => user({ identities: [] }, [DEV]))
    expect(groupsOf(world)).toEqual([])
    expect(world.results).toEqual(['oidc identity_gone'])
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
