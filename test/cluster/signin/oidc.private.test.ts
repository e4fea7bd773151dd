// Signing in at a company's OpenID Connect provider on a real control plane, in a browser and for a terminal, with two replicas of
// the sign-in process (contract 24.3, 24.4, 25.2 to 25.6, 27.1).
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import type { Browser, ShownPage } from '../../support/browser/browser.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { ask } from '../../support/gateway-process.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { SOON } from '../gateway/test-gateway.ts'
import { startTool } from './command-line.ts'
import { SIGN_IN_NAMESPACE, startSignInWorld } from './sign-in-world.ts'
import { startIdentityProvider } from '../../support/oidc/identity-provider.ts'

const world = await startSignInWorld(await privateControlPlane(), { replicas: 2 })
const { setup, url, browser } = world
const { plane, ca } = setup

const CLIENT_SECRET = 'a client secret of the tests'
const client = {
  client_id: 'platform',
  client_secret: CLIENT_SECRET,
  redirect_uris: [`${url}/auth/oidc/callback`],
  post_logout_redirect_uris: [`${url}/login`],
}
const issuer = await startIdentityProvider([client], { stopAfter: afterAll })

const oidc = {
  issuerUrl: issuer,
  clientId: 'platform',
  scopes: ['openid', 'email', 'profile', 'groups'],
}
const declare = (auth: object = {}): Promise<void> =>
  world.settings.declare({ platformHost: 'platform.example.com', auth: { oidc, ...auth } })
await world.settings.secret(JSON.stringify({ auth: { oidc: { clientSecret: CLIENT_SECRET } } }))
await declare()

const isOffered = async (): Promise<void> =>
  expect((await browser().navigate(`${url}/login`)).text).toContain('Sign in with')
await eventuallyPasses('the provider is offered', isOffered, SOON)

/** Signs in at the provider as a person. @returns the page after the callback */
async function signIn(one: Browser, person: string, page?: ShownPage): Promise<ShownPage> {
  const login = page ?? (await one.navigate(`${url}/login`))
  const choice = await one.click(login, 'Sign in with')
  // The provider does not ask a browser again that has signed in there.
  return choice.url.origin === url ? choice : one.submit(choice, '/interaction/', { person })
}

const json = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse(await mustKubectl(plane, [...args, '-o', 'json'])) as T

test('a first sign-in makes User, Teams, session and key; a Team opens what its RoleBinding gives (24.4, 25.4)', async () => {
  const page = await signIn(browser(), 'ada')
  expect(page.text).toContain('Signed in as ada')
  expect(await json('get', 'user', 'ada')).toMatchObject({
    spec: {
      username: 'ada',
      displayName: 'Ada Lovelace',
      email: 'ada@example.com',
      identities: [{ connector: 'oidc', subject: `${issuer}#ada` }],
    },
    status: {
      groups: [
        { connector: 'oidc', name: 'sre' },
        { connector: 'oidc', name: 'developers' },
      ],
      lastSignIn: expect.any(String) as unknown,
    },
  })
  const { items } = await json<{ items: { spec: object }[] }>('get', 'teams')
  expect(items.map(({ spec }) => spec)).toEqual(
    expect.arrayContaining([
      { name: 'oidc:sre', groups: [{ connector: 'oidc', name: 'sre' }] },
      { name: 'oidc:developers', groups: [{ connector: 'oidc', name: 'developers' }] },
    ]),
  )
  const sessions = await json<{ items: { type: string }[] }>(
    'get',
    'secrets',
    '-n',
    SIGN_IN_NAMESPACE,
  )
  expect(
    sessions.items.filter(({ type }) => type === 'management.platform.sh/session'),
  ).toHaveLength(1)
})

/** A terminal that waits for a key. */
function terminal() {
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const digits = createHash('sha256').update(challenge).digest('hex')
  return {
    verifier,
    shown: `${digits.slice(0, 4)}-${digits.slice(4, 8)}`,
    address: `${url}/login?cli=true&state=s&code_challenge=${challenge}`,
  }
}

const exchange = (code: string, verifier: string) =>
  ask(`${url}/auth/cli/token`, {
    ca,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, code_verifier: verifier }),
  })

/** The code on the page that hands over. */
const codeOn = ({ body }: ShownPage): string => /class="code">([^<]+)</.exec(body)?.[1] ?? ''

test('a terminal exchanges the code for a key once, by its verifier; a browser session plays no part (25.2, SH)', async () => {
  const one = browser()
  await signIn(one, 'ada')
  const { verifier, shown, address } = terminal()
  const start = await one.navigate(address)
  expect(start.text).toContain(shown)
  const page = await signIn(one, 'ada', start)
  expect(page.text).toContain('Sign in as ada on a terminal')
  expect(page.text).toContain(shown)
  const code = codeOn(page)
  const thief = await exchange(code, randomBytes(32).toString('base64url'))
  const right = await exchange(code, verifier)
  const again = await exchange(code, verifier)
  expect([thief.code, right.code, again.code]).toEqual([400, 200, 400])
  const { accessKey } = JSON.parse(right.body) as { accessKey: string }
  expect(await setup.userInfo(accessKey)).toMatchObject({
    username: 'ada',
    groups: expect.arrayContaining([
      'platform:team:oidc:sre',
      'platform:team:oidc:developers',
    ]) as unknown,
  })
})

test('login, whoami, token and logout work at a terminal without a browser (25.2, 27.2)', async () => {
  const home = mkdtempSync(join(tmpdir(), 'person-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const caFile = join(home, 'ca.crt')
  writeFileSync(caFile, ca)
  const login = startTool(home, ['login', `--url=${url}`, `--ca-file=${caFile}`, '--no-browser'])
  const one = browser()
  const start = await one.navigate(await login.says(/(https:\S+\/login\?\S+)/))
  expect(start.text).toContain(await login.says(/check code (\S+?)\.?\s/))
  login.type(codeOn(await signIn(one, 'ada', start)))
  expect(await login.ended).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('as ada') as unknown,
  })
  const run = (...args: readonly string[]) => startTool(home, args).ended
  expect(await run('whoami')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ada[^]*oidc:sre/) as unknown,
  })
  const { stdout } = await run('token')
  const { status } = JSON.parse(stdout) as { status: { token: string } }
  expect((await setup.ask(status.token, '/api')).code).toBe(200)
  expect(await run('logout')).toMatchObject({ code: 0 })
  await eventuallyPasses(
    'the key has ended',
    async () => expect((await setup.ask(status.token, '/api')).code).toBe(401),
    SOON,
  )
})

test('a callback is taken once, also at both replicas at once, and by its own browser only (25.3, SA)', async () => {
  const one = browser()
  const choice = await one.click(await one.navigate(`${url}/login`), 'Sign in with')
  const back = await callbackOf(one, choice, 'grace')
  expect((await browser().navigate(back)).status).toBe(400)
  const cookie = one.jar.header({ method: 'GET', url: new URL(back), initiator: null }) ?? ''
  const codes = await Promise.all([0, 1].map((at) => world.askReplica(at, back, { cookie })))
  // The provider refuses the code of the second, where that comes after the first.
  expect(codes.filter((code) => code === 303)).toHaveLength(1)
  expect((await one.navigate(back)).text).toContain('Not signed in')
})

/** The address of the callback, not visited. */
async function callbackOf(one: Browser, choice: ShownPage, person: string): Promise<string> {
  const form = choice.forms[0]
  if (form === undefined) throw new Error('the provider shows no form')
  let address = form.action
  let method = 'POST'
  for (let hops = 0; hops < 10; hops += 1) {
    const cookie = one.jar.header({ method, url: address, initiator: address.origin })
    const answer = await fetch(address, {
      method,
      redirect: 'manual',
      headers: {
        ...(cookie === undefined ? {} : { cookie }),
        ...(method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
      },
      ...(method === 'POST' ? { body: `person=${person}` } : {}),
    })
    one.jar.store(answer.headers.getSetCookie(), address)
    address = new URL(answer.headers.get('location') ?? '', address)
    method = 'GET'
    if (address.href.startsWith(`${url}/auth/`)) return address.href
  }
  throw new Error('no callback')
}

test('whoever has the name of a User but not its account is refused like a disabled one, in the same words (24.3, 25.5, SC)', async () => {
  await mustKubectl(plane, ['delete', 'user', 'ada', 'grace', '--wait'])
  await world.createUser('ada')
  await world.createUser('grace', {
    disabled: true,
    identities: [{ connector: 'oidc', subject: `${issuer}#grace` }],
  })
  const withoutReference = ({ body }: ShownPage): string =>
    body.replaceAll(/reference [0-9a-f-]+/g, '')
  await eventuallyPasses(
    'both are refused',
    async () => {
      const [taken, disabled] = [await signIn(browser(), 'ada'), await signIn(browser(), 'grace')]
      expect([taken.status, disabled.status]).toEqual([403, 403])
      expect(taken.text).toContain(
        "This account can't be used here. Ask an administrator (reference ",
      )
      expect(withoutReference(taken)).toBe(withoutReference(disabled))
    },
    SOON,
  )
  await mustKubectl(plane, [
    'patch',
    'user',
    'ada',
    '--type=merge',
    '-p',
    '{"spec":{"identities":[{"connector":"oidc"}]}}',
  ])
  await eventuallyPasses(
    'the account claims its User',
    async () => expect((await signIn(browser(), 'ada')).text).toContain('Signed in as ada'),
    SOON,
  )
  expect(await json('get', 'user', 'ada')).toMatchObject({
    spec: { identities: [{ connector: 'oidc', subject: `${issuer}#ada` }] },
  })
})

test('SignInReady says whether the provider works, and PartsNotServed names it no more (27.1, 6.7)', async () => {
  const conditionOf = async (type: string) =>
    (await world.settings.read()).status?.conditions?.find((one) => one.type === type)
  await eventuallyPasses(
    'SignInReady is True',
    async () =>
      expect(await conditionOf('SignInReady')).toMatchObject({ status: 'True', reason: 'Ready' }),
    SOON,
  )
  expect(await conditionOf('PartsNotServed')).toBeUndefined()
  await world.settings.declare({
    platformHost: 'platform.example.com',
    auth: { oidc: { ...oidc, issuerUrl: 'http://127.0.0.1:9' } },
  })
  await eventuallyPasses(
    'SignInReady is False',
    async () =>
      expect(await conditionOf('SignInReady')).toMatchObject({
        status: 'False',
        reason: 'Unusable',
      }),
    SOON,
  )
  await declare()
})

// The last one: this file has one replica from here on.
test('an attempt that one replica began is ended by the other, when the first is killed (25.1)', async () => {
  await mustKubectl(plane, ['delete', 'user', 'grace', '--ignore-not-found', '--wait'])
  world.useReplica(0)
  const one = browser()
  const choice = await one.click(await one.navigate(`${url}/login`), 'Sign in with')
  const [first] = world.replicas
  first?.kill('SIGKILL')
  expect(await first?.exited).toMatchObject({ signal: 'SIGKILL' })
  world.useReplica(1)
  const page = await one.submit(choice, '/interaction/', { person: 'grace' })
  expect(page.text).toContain('Signed in as grace')
})
