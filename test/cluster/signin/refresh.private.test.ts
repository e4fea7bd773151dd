// People who have signed in are asked for again at a real provider, on a real control plane: gateway, operator, and two replicas of
// the sign-in process with the rights and policies of the manifests (contract 25.7, 24.3).
import { afterAll, expect, test } from 'vitest'
import type { ConfigMap } from '../../../src/api/objects.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import type { User } from '../../../src/api/user.gen.ts'
import { identityReportIn } from '../../../src/domain/signin/identity-report.ts'
import { PEOPLE, type Person } from '../../../tools/run/identity-provider.ts'
import type { Browser } from '../../support/browser/browser.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { startIdentityProvider } from '../../support/oidc/identity-provider.ts'
import { SOON } from '../gateway/test-gateway.ts'
import { SIGN_IN_NAMESPACE, startSignInWorld } from './sign-in-world.ts'

const world = await startSignInWorld(await privateControlPlane(), {
  flags: ['--identity-refresh-interval=2s', '--removed-provider-grace=3s'],
})
const { setup, url, browser } = world
const { plane } = setup

const CLIENT_SECRET = 'a client secret of the tests'
const client = {
  client_id: 'platform',
  client_secret: CLIENT_SECRET,
  redirect_uris: [`${url}/auth/oidc/callback`],
  grant_types: ['authorization_code', 'refresh_token'],
}
const people: Record<string, Person> = { ...PEOPLE }
const issuer = await startIdentityProvider([client], { stopAfter: afterAll, people })
const oidc = {
  issuerUrl: issuer,
  clientId: 'platform',
  scopes: ['email', 'profile', 'groups', 'offline_access'],
}
const declare = (auth: object): Promise<void> =>
  world.settings.declare({ platformHost: 'platform.example.com', auth })
const isOffered = async (): Promise<void> =>
  expect((await browser().navigate(`${url}/login`)).text).toContain('Sign in with')
await world.settings.secret(JSON.stringify({ auth: { oidc: { clientSecret: CLIENT_SECRET } } }))
await declare({ oidc })
await eventuallyPasses('the provider is offered', isOffered, SOON)

const json = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse(await mustKubectl(plane, [...args, '-o', 'json'])) as T

/** A person who has signed in, with the name of the key. */
interface SignedIn {
  readonly one: Browser
  readonly name: string
}

async function signIn(person: string): Promise<SignedIn> {
  const one = browser()
  const login = await one.navigate(`${url}/login`)
  const choice = await one.click(login, 'Sign in with')
  const page = await one.submit(choice, '/interaction/', { person })
  expect(page.text).toContain(`Signed in as ${person}`)
  const { items } = await json<{ items: OwnedAccessKey[] }>('get', 'oak')
  const own = items.filter(({ spec }) => spec?.type === 'Login' && spec.user === person)
  const newest = own.toSorted((a, b) =>
    (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1,
  )[0]
  return { one, name: newest?.metadata.name ?? '' }
}

const keyOf = ({ name }: SignedIn): Promise<OwnedAccessKey> => json('get', 'oak', name)
const isSignedIn = async ({ one }: SignedIn): Promise<boolean> =>
  (await one.navigate(`${url}/login`)).text.includes('Signed in as')

/** Waits until the key says that its person is gone, and the browser is signed in no more. */
async function isGone(person: SignedIn): Promise<void> {
  const { metadata, status } = await keyOf(person)
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  expect(metadata.annotations?.['management.platform.sh/identity-gone']).toMatch(
    /^20\d\d-.*Z IdentityGone$/,
  )
  expect(ready).toMatchObject({ status: 'False', reason: 'IdentityGone' })
  expect(await isSignedIn(person)).toBe(false)
}

test('a key says when its person was confirmed last, and has the groups of now (25.7, 24.4)', async () => {
  const ada = await signIn('ada')
  const first = (await keyOf(ada)).spec?.identityRefresh ?? ''
  expect(first).toMatch(/^20\d\d-/)
  people['ada'] = { displayName: 'Ada', email: 'ada@example.com', groups: ['sre', 'on-call'] }
  await eventuallyPasses(
    'the key is refreshed',
    async () => {
      const { spec } = await keyOf(ada)
      expect((spec?.identityRefresh ?? '') > first).toBe(true)
      expect(spec?.identity?.groups).toEqual(['sre', 'on-call'])
    },
    SOON,
  )
  await eventuallyPasses(
    'the User follows',
    async () =>
      expect((await json<User>('get', 'user', 'ada')).status?.groups).toEqual([
        { connector: 'oidc', name: 'sre' },
        { connector: 'oidc', name: 'on-call' },
      ]),
    SOON,
  )
  await eventuallyPasses(
    'the new group has a Team',
    async () =>
      expect(await mustKubectl(plane, ['get', 'teams', '-o', 'name'])).toContain('oidc-on-call-'),
    SOON,
  )
  expect(await isSignedIn(ada)).toBe(true)
})

test('a key ends when the account is closed at the provider (25.7, SM)', async () => {
  const grace = await signIn('grace')
  delete people['grace']
  await eventuallyPasses('the key of who is gone', () => isGone(grace), SOON)
  const { data } = await json<ConfigMap>('get', 'configmap', grace.name, '-n', SIGN_IN_NAMESPACE)
  expect(identityReportIn(data?.['report'] ?? '')?.gone?.reason).toBe('IdentityGone')
})

test('a key ends when its account leaves identities, and its groups go with it (24.3, 25.7)', async () => {
  const ada = await signIn('ada')
  const left = '{"spec":{"identities":null}}'
  await mustKubectl(plane, ['patch', 'user', 'ada', '--type=merge', '-p', left])
  await eventuallyPasses('the key of the former account', () => isGone(ada), SOON)
  await eventuallyPasses(
    'the groups go',
    async () => expect((await json<User>('get', 'user', 'ada')).status?.groups ?? []).toEqual([]),
    SOON,
  )
})

test('a key ends when its provider leaves the settings for longer than the grace (25.7)', async () => {
  people['edsger'] = { displayName: 'Edsger', email: 'edsger@example.com', groups: [] }
  const edsger = await signIn('edsger')
  await world.settings.secret('{}')
  await declare({})
  await eventuallyPasses('the key of the removed provider', () => isGone(edsger), SOON)
})
