/** @module-tag no-retry */
// Connectors end to end: routes, people and two GitHub stand-ins, which know people of the same names (contract 24.3, 24.4, 25.3,
// 25.4, 27.1).
import { describe, expect, it } from 'vitest'
import type { Connector } from '../../../../src/api/config.gen.ts'
import type { UserSpec } from '../../../../src/api/user.gen.ts'
import { enterpriseAddresses } from '../../../../src/signin/providers/addresses.ts'
import { providersIn } from '../../../../src/signin/providers/in-settings.ts'
import type { Browser, ShownPage } from '../../../support/browser/browser.ts'
import { contextWith } from '../../../support/providers/options.ts'
import {
  HOST_CLIENT,
  hostAccount,
  type SourceHost,
} from '../../../support/providers/source-host-a.ts'
import { hostOfTest } from '../../../support/providers/source-host-a-sign-in.ts'
import { PLATFORM, SignInWorld } from '../../../support/signin/world.ts'

const MEMBER = { orgs: ['acme'], teams: [['acme', 'sre', 'SRE']] } as const

/** A connector of the settings, and where it leads. */
interface Led {
  readonly connector: Connector
  readonly host: SourceHost
}

const led = (id: string, host: SourceHost, differs: Partial<Connector> = {}): Led => ({
  connector: {
    id,
    sourceHostA: { ...HOST_CLIENT, orgs: [{ name: 'acme' }] },
    ...differs,
  },
  host,
})

/** Puts connectors in force. @param auth further settings */
function configure(world: SignInWorld, connectors: readonly Led[], auth: object = {}): void {
  world.providers = connectors.flatMap(({ connector, host }) =>
    providersIn(
      { connectors: [connector] },
      { ...contextWith({ sourceHostA: enterpriseAddresses(host.url) }), publicUrl: PLATFORM },
    ),
  )
  world.configure({ auth: { connectors: connectors.map(({ connector }) => connector), ...auth } })
}

/** A world with two connectors, `staff` and `guests`, at whose hosts the same account signs in. */
async function twoConnectors(
  differs: { readonly staff?: Partial<Connector>; readonly auth?: object } = {},
) {
  const [staff, guests] = [await hostOfTest(), await hostOfTest()]
  staff.account = hostAccount(MEMBER)
  guests.account = hostAccount(MEMBER)
  const world = new SignInWorld()
  configure(world, [led('staff', staff, differs.staff), led('guests', guests)], differs.auth ?? {})
  return { world, staff, guests }
}

/** The address of the host that a browser is led to. */
async function begin(browser: Browser, id: string): Promise<URL> {
  const page = await browser.navigate(`${PLATFORM}/auth/${id}/login`)
  return new URL(String(page.headers['location']))
}

/** Brings the browser back from a host, with its code. */
const comeBack = (browser: Browser, id: string, at: URL, host: SourceHost): Promise<ShownPage> => {
  const state = at.searchParams.get('state')
  const query = `code=${host.consent(at.searchParams)}&state=${state}`
  return browser.navigate(`${PLATFORM}/auth/${id}/callback?${query}`, { from: host.url })
}

/** Signs in by a connector. */
async function signIn(world: SignInWorld, id: string, host: SourceHost): Promise<ShownPage> {
  const browser = world.browser()
  return comeBack(browser, id, await begin(browser, id), host)
}

const lastReason = (world: SignInWorld) => world.reports.at(-1)?.reason

const userSpec = (world: SignInWorld, name: string) =>
  world.cluster.object('User', name)?.spec as UserSpec | undefined

const teamNames = (world: SignInWorld): readonly unknown[] =>
  world.cluster.all('Team').map(({ spec }) => (spec as { name: string }).name)

describe('two connectors that know the same name (24.3, SC)', () => {
  it('sign in the first person, and refuse the second: they are never merged', async () => {
    const { world, staff, guests } = await twoConnectors()
    expect((await signIn(world, 'staff', staff)).text).toContain('Signed in as ada')
    const page = await signIn(world, 'guests', guests)
    expect([page.status, lastReason(world)]).toEqual([403, 'name_taken'])
    expect(userSpec(world, 'ada')?.identities).toEqual([
      { connector: 'staff', subject: `${staff.url}/api/v3#583231` },
    ])
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(1)
  })

  it('sign in one person where the User lets the second claim it, with the groups of each', async () => {
    const { world, staff, guests } = await twoConnectors()
    world.user('ada', { identities: [{ connector: 'staff' }, { connector: 'guests' }] })
    for (const [id, host] of [
      ['staff', staff],
      ['guests', guests],
    ] as const)
      expect((await signIn(world, id, host)).text).toContain('Signed in as ada')
    const { status } = world.cluster.object('User', 'ada') as unknown as { status: object }
    expect(status).toMatchObject({
      groups: [
        { connector: 'staff', name: 'acme:sre' },
        { connector: 'guests', name: 'acme:sre' },
      ],
    })
  })

  it('let no entry of the one be claimed by the other', async () => {
    const { world, guests } = await twoConnectors()
    world.user('ada', { identities: [{ connector: 'staff' }] })
    expect((await signIn(world, 'guests', guests)).status).toBe(403)
    expect(userSpec(world, 'ada')?.identities).toEqual([{ connector: 'staff' }])
  })

  it('make Teams that share no name and no member (24.4, SD)', async () => {
    const { world, staff, guests } = await twoConnectors()
    guests.account = hostAccount({ ...MEMBER, login: 'grace' })
    await signIn(world, 'staff', staff)
    await signIn(world, 'guests', guests)
    expect(world.cluster.all('Team').map(({ spec }) => spec)).toEqual([
      {
        name: 'staff:acme:sre',
        displayName: 'SRE',
        groups: [{ connector: 'staff', name: 'acme:sre' }],
      },
      {
        name: 'guests:acme:sre',
        displayName: 'SRE',
        groups: [{ connector: 'guests', name: 'acme:sre' }],
      },
    ])
  })
})

describe('a connector that is pointed at another host (24.3, SC)', () => {
  it('signs nobody in as a person of the first one, whose id and name are the same there', async () => {
    const { world, staff, guests } = await twoConnectors()
    await signIn(world, 'staff', staff)
    configure(world, [led('staff', guests)])
    const page = await signIn(world, 'staff', guests)
    expect([page.status, lastReason(world)]).toEqual([403, 'name_taken'])
    expect(userSpec(world, 'ada')?.identities).toEqual([
      { connector: 'staff', subject: `${staff.url}/api/v3#583231` },
    ])
  })

  it('judges an attempt under way by the settings of its callback (25.8)', async () => {
    const { world, staff, guests } = await twoConnectors()
    const browser = world.browser()
    const at = await begin(browser, 'staff')
    configure(world, [led('staff', guests)])
    const page = await comeBack(browser, 'staff', at, staff)
    expect([page.status, lastReason(world)]).toEqual([403, 'provider_refused'])
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })
})

describe('the switches of a connector (25.4)', () => {
  it.each([
    { name: 'its own', staff: { disableUserCreation: true }, auth: {}, guests: null },
    {
      name: 'the global one',
      staff: {},
      auth: { disableUserCreation: true },
      guests: 'user_unknown',
    },
    {
      name: 'the global one beside its own false',
      staff: { disableUserCreation: false },
      auth: { disableUserCreation: true },
      guests: 'user_unknown',
    },
  ])('let it make no User: $name', async ({ staff: own, auth, guests: atGuests }) => {
    const { world, staff, guests } = await twoConnectors({ staff: own, auth })
    expect((await signIn(world, 'staff', staff)).status).toBe(403)
    expect(lastReason(world)).toBe('user_unknown')
    await signIn(world, 'guests', guests)
    expect(lastReason(world)).toBe(atGuests)
    expect(world.cluster.all('User')).toHaveLength(atGuests === null ? 1 : 0)
  })

  it.each([
    {
      name: 'its own',
      staff: { disableTeamCreation: true },
      auth: {},
      teams: ['guests:acme:sre'],
    },
    { name: 'the global one', staff: {}, auth: { disableTeamCreation: true }, teams: [] },
    { name: 'none', staff: {}, auth: {}, teams: ['staff:acme:sre', 'guests:acme:sre'] },
  ])('let it make no Team: $name', async ({ staff: own, auth, teams }) => {
    const { world, staff, guests } = await twoConnectors({ staff: own, auth })
    guests.account = hostAccount({ ...MEMBER, login: 'grace' })
    expect((await signIn(world, 'staff', staff)).text).toContain('Signed in as ada')
    expect((await signIn(world, 'guests', guests)).text).toContain('Signed in as grace')
    expect(teamNames(world)).toEqual(teams)
  })
})

describe('an attempt at a connector', () => {
  it('is unknown at the callback of another connector, which gets no code (25.3, SA)', async () => {
    const { world, staff, guests } = await twoConnectors()
    const browser = world.browser()
    const at = await begin(browser, 'staff')
    const page = await comeBack(browser, 'guests', at, guests)
    expect([page.status, lastReason(world)]).toEqual([400, 'attempt_unknown'])
    expect([...staff.requests, ...guests.requests]).toEqual([])
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('has a callback of its own, which the host is told (25.2)', async () => {
    const { world } = await twoConnectors()
    for (const id of ['staff', 'guests']) {
      const { searchParams } = await begin(world.browser(), id)
      expect(searchParams.get('redirect_uri')).toBe(`${PLATFORM}/auth/${id}/callback`)
    }
  })

  it('ends with 404 when the connector has left the settings, and its button is gone (25.8)', async () => {
    const { world, staff, guests } = await twoConnectors()
    const browser = world.browser()
    const at = await begin(browser, 'staff')
    configure(world, [led('guests', guests)])
    expect((await comeBack(browser, 'staff', at, staff)).status).toBe(404)
    const login = await browser.navigate(`${PLATFORM}/login`)
    expect([login.body.includes('/auth/guests/'), login.body.includes('/auth/staff/')]).toEqual([
      true,
      false,
    ])
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('counts by the kind of its provider, never by its id, which the log has (27.1)', async () => {
    const { world, staff, guests } = await twoConnectors()
    await signIn(world, 'staff', staff)
    await signIn(world, 'guests', guests)
    expect(world.reports.map(({ provider, outcome }) => [provider, outcome])).toEqual([
      ['sourceHostA', 'begun'],
      ['sourceHostA', 'signed_in'],
      ['sourceHostA', 'begun'],
      ['sourceHostA', 'refused'],
    ])
    const lines = world.memory.lines.filter(({ sentence }) => sentence === 'sign-in attempt')
    expect(lines.map(({ fields }) => fields['provider'])).toEqual([
      'staff',
      'staff',
      'guests',
      'guests',
    ])
  })
})

it('a person in no organization of the connector is refused by its setting, and gets nothing (25.5)', async () => {
  const { world, staff } = await twoConnectors()
  staff.account = hostAccount()
  const page = await signIn(world, 'staff', staff)
  expect([page.status, lastReason(world)]).toEqual([403, 'groups_required'])
  expect(page.text).toContain(': orgs (reference')
  expect(world.cluster.all('User')).toEqual([])
})
