// Connectors on a real control plane: two OpenID Connect providers, a SAML provider and a stand-in of GitHub, who know people of the
// same names (contract 24.3, 24.4, 25.2, 25.8, 27.1).
import { afterAll, expect, test } from 'vitest'
import type { Connector } from '../../../src/api/config.gen.ts'
import type { Browser, ShownPage } from '../../support/browser/browser.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { HOST_CLIENT, hostAccount, startSourceHost } from '../../support/providers/source-host-a.ts'
import { startSamlProvider } from '../../support/saml/identity-provider.ts'
import { SOON } from '../gateway/test-gateway.ts'
import { startSignInWorld } from './sign-in-world.ts'
import { startIdentityProvider } from '../../support/oidc/identity-provider.ts'

/** Settings are in force so long after they stand in status (contract 25.8). */
const IN_FORCE = { withinMs: 2000 }

const host = await startSourceHost(null, afterAll)
const samlProvider = await startSamlProvider(afterAll)
const world = await startSignInWorld(await privateControlPlane(), {
  flags: [`--source-host-a-url=${host.url}`],
})
const { setup, url, browser, settings } = world
const { plane } = setup
host.callbacks = [`${url}/auth/hub/callback`]

const CLIENT_SECRET = 'a client secret of the tests'

/** An OpenID Connect provider with ada and grace, for one connector. @returns its settings */
async function oidcFor(id: string) {
  const client = {
    client_id: id,
    client_secret: CLIENT_SECRET,
    redirect_uris: [`${url}/auth/${id}/callback`],
  }
  const issuerUrl = await startIdentityProvider([client], { stopAfter: afterAll })
  const scopes = ['openid', 'email', 'profile', 'groups']
  return { issuerUrl, clientId: id, clientSecret: CLIENT_SECRET, scopes }
}

const staff: Connector = { id: 'staff', displayName: 'Staff', oidc: await oidcFor('staff') }
const partners: Connector = {
  id: 'partners',
  displayName: 'Partners',
  oidc: await oidcFor('partners'),
}
const hub: Connector = { id: 'hub', sourceHostA: { ...HOST_CLIENT, orgs: [{ name: 'acme' }] } }
const company: Connector = { id: 'company', saml: samlProvider.settings }
const ALL = [staff, partners, hub, company]
await settings.secret(JSON.stringify({ auth: { connectors: ALL } }))

/** Puts the connectors of the Secret in force, or these. */
async function declare(connectors: readonly Connector[] | null): Promise<void> {
  const auth = connectors === null ? {} : { auth: { connectors: connectors.map(withoutSecrets) } }
  await settings.declare({ platformHost: 'platform.example.com', ...auth })
}

/** As status shows it: the Secret has the values. */
const withoutSecrets = ({ oidc, sourceHostA, ...rest }: Connector): Connector => ({
  ...rest,
  ...(oidc && { oidc: { ...oidc, clientSecret: 'REDACTED' } }),
  ...(sourceHostA && { sourceHostA: { ...sourceHostA, clientSecret: 'REDACTED' } }),
})

/** The ids of the buttons on the page. */
async function offered(): Promise<readonly string[]> {
  const { body } = await browser().navigate(`${url}/login`)
  return [...body.matchAll(/href="\/auth\/([^/]+)\/login/g)].map(([, id = '']) => id)
}

const areOffered = async (): Promise<void> =>
  expect(await offered()).toEqual(ALL.map(({ id }) => id))
await declare(null)
await eventuallyPasses('the connectors are offered, in their order', areOffered, SOON)

/** Begins at a connector. @returns the page of its provider, where that has one */
const begin = (one: Browser, id: string): Promise<ShownPage> =>
  one.navigate(`${url}/auth/${id}/login`)

/** Signs in at one of the OpenID Connect providers. @returns the page after the callback */
async function signIn(id: string, person: string): Promise<ShownPage> {
  const one = browser()
  return one.submit(await begin(one, id), '/interaction/', { person })
}

/** Signs in at the stand-in, which asks for nothing. */
const signInAtHub = (login: string, id: number): Promise<ShownPage> => {
  host.account = hostAccount({ login, id, orgs: ['acme'], teams: [['acme', 'sre', 'SRE']] })
  return begin(browser(), 'hub')
}

const json = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse(await mustKubectl(plane, [...args, '-o', 'json'])) as T

test('people sign in by each connector, and each makes Teams of its own (24.4, 25.2)', async () => {
  expect((await signIn('staff', 'ada')).text).toContain('Signed in as ada')
  expect((await signIn('partners', 'grace')).text).toContain('Signed in as grace')
  expect((await signInAtHub('linus', 7)).text).toContain('Signed in as linus')
  const users = await json<{ items: { spec: { username: string; identities?: unknown } }[] }>(
    'get',
    'users',
  )
  const identities = Object.fromEntries(
    users.items.map(({ spec }) => [spec.username, spec.identities]),
  )
  expect(identities).toMatchObject({
    ada: [{ connector: 'staff', subject: `${staff.oidc?.issuerUrl}#ada` }],
    grace: [{ connector: 'partners', subject: `${partners.oidc?.issuerUrl}#grace` }],
    linus: [{ connector: 'hub', subject: `${host.url}/api/v3#7` }],
  })
  const { items } = await json<{ items: { spec: object }[] }>('get', 'teams')
  expect(items.map(({ spec }) => spec)).toEqual(
    expect.arrayContaining([
      { name: 'staff:sre', groups: [{ connector: 'staff', name: 'sre' }] },
      { name: 'partners:developers', groups: [{ connector: 'partners', name: 'developers' }] },
      {
        name: 'hub:acme:sre',
        displayName: 'SRE',
        groups: [{ connector: 'hub', name: 'acme:sre' }],
      },
    ]),
  )
})

test('a person of a SAML provider comes back by its form, and the Response works once (25.6, SI)', async () => {
  samlProvider.person = 'kate'
  const one = browser()
  const asking = await one.submit(await begin(one, 'company'), '/sso')
  const page = await one.submit(asking, '/auth/company/callback')
  expect(page.text).toContain('Signed in as kate')
  expect((await one.submit(asking, '/auth/company/callback')).status).toBe(400)
  const { spec } = await json<{ spec: object }>('get', 'user', 'kate')
  expect(spec).toMatchObject({
    email: 'ada@example.com',
    identities: [{ connector: 'company', subject: expect.stringMatching(/#kate-1$/) as unknown }],
  })
  const { items } = await json<{ items: { spec: { name?: string } }[] }>('get', 'teams')
  expect(items.map(({ spec: { name } }) => name)).toEqual(
    expect.arrayContaining(['company:dev', 'company:sre']),
  )
})

test('a second person of the same name is refused at every other connector (24.3, SC)', async () => {
  const { spec } = await json<{ spec: object }>('get', 'user', 'ada')
  const pages = [await signIn('partners', 'ada'), await signInAtHub('ada', 8)]
  for (const { status, text } of pages) {
    expect(status).toBe(403)
    expect(text).toContain("This account can't be used here. Ask an administrator (reference ")
  }
  expect((await json<{ spec: object }>('get', 'user', 'ada')).spec).toEqual(spec)
})

test('whom /user/orgs does not show in the organization is refused by the setting (25.5, 25.6)', async () => {
  host.account = hostAccount({ login: 'mallory', id: 9, teams: [['acme', 'sre', 'SRE']] })
  const page = await begin(browser(), 'hub')
  expect([page.status, page.text]).toEqual([403, expect.stringContaining(': orgs (reference ')])
  const { items } = await json<{ items: { spec: { username: string } }[] }>('get', 'users')
  expect(items.map(({ spec }) => spec.username)).not.toContain('mallory')
})

test('SignInReady says that a host without orgs admits everybody, and PartsNotServed names no connector (27.1, 6.7)', async () => {
  const conditionOf = async (type: string) =>
    (await settings.read()).status?.conditions?.find((one) => one.type === type)
  const { sourceHostA: { orgs: _, ...open } = {} } = hub
  await declare([staff, partners, { ...hub, sourceHostA: open }, company])
  await eventuallyPasses(
    'SignInReady is True, and names the hub alone',
    async () =>
      expect(await conditionOf('SignInReady')).toMatchObject({
        status: 'True',
        reason: 'Ready',
        message: expect.stringMatching(/^hub: [^.]*admits everybody[^.]*\.$/) as unknown,
      }),
    SOON,
  )
  expect(await conditionOf('PartsNotServed')).toBeUndefined()
  await declare(null)
})

test('a connector that leaves the settings is gone from the page, for attempts under way as well (25.8)', async () => {
  const one = browser()
  const choice = await begin(one, 'staff')
  await declare([partners, hub])
  await settings.settled(
    'status has two connectors',
    ({ auth }) => (auth?.['connectors'] as readonly unknown[] | undefined)?.length === 2,
  )
  await eventuallyPasses(
    'the page has two buttons',
    async () => expect(await offered()).toEqual(['partners', 'hub']),
    IN_FORCE,
  )
  expect((await one.submit(choice, '/interaction/', { person: 'ada' })).status).toBe(404)
  expect((await begin(browser(), 'staff')).status).toBe(404)
  expect((await signIn('partners', 'grace')).text).toContain('Signed in as grace')
})
