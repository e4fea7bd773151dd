// Signing in with a password on a real control plane, through the gateway (contract 25.2 to 25.5).
import { expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { ask } from '../../support/gateway-process.ts'
import { SOON } from '../gateway/test-gateway.ts'
import { SIGN_IN_NAMESPACE, startSignInWorld } from './sign-in-world.ts'

const world = await startSignInWorld(await privateControlPlane())
const { setup, url, browser } = world
const { plane, ca } = setup
const PASSWORD = 'correct horse battery'

const post = (body: object, headers: Readonly<Record<string, string>> = {}) =>
  ask(`${url}/auth/password/login`, {
    ca,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

/** The Login keys of a user, by name. */
async function keysOf(user: string): Promise<readonly OwnedAccessKey[]> {
  const path = ['get', 'oak', '-o', 'json']
  const { items } = JSON.parse(await mustKubectl(plane, path)) as { items: OwnedAccessKey[] }
  return items.filter(
    ({ metadata, spec }) => spec?.user === user && metadata.deletionTimestamp === undefined,
  )
}

const loginKeys = async (user: string): Promise<readonly string[]> =>
  (await keysOf(user)).map(({ metadata }) => metadata.name)

test('a person signs in by the form, is shown who they are, and signs out; the key ends with that (25.2, 25.4)', async () => {
  await world.createUser('ada', { displayName: 'Ada' }, PASSWORD)
  const one = browser()
  const page = await one.navigate(`${url}/login`)
  const signedIn = await one.submit(page, '/auth/password/login', {
    username: 'ada',
    password: PASSWORD,
  })
  expect(signedIn.text).toContain('Signed in as ada')
  const [name = ''] = await loginKeys('ada')
  const key = JSON.parse(await mustKubectl(plane, ['get', 'oak', name, '-o', 'json'])) as object
  expect(key).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^login-[a-z2-7]{26}$/) as unknown,
      finalizers: ['management.platform.sh/revoke'],
      ownerReferences: [{ kind: 'User', name: 'ada' }],
    },
    spec: {
      type: 'Login',
      user: 'ada',
      key: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as unknown,
      displayName: 'Sign-in by password, browser',
      identity: { connector: 'password', userId: 'ada' },
    },
  })
  const out = await one.submit(signedIn, '/auth/logout')
  expect(out.text).toContain('Sign in')
  await eventuallyPasses(
    'the key is gone',
    async () => expect(await loginKeys('ada')).toEqual([]),
    SOON,
  )
})

test('a program gets the key as JSON, which works at once at the gateway (25.2)', async () => {
  await world.createUser('grace', {}, PASSWORD)
  const { code, body } = await post({ username: 'grace', password: PASSWORD })
  expect(code).toBe(200)
  const { accessKey, expirationTimestamp } = JSON.parse(body) as Readonly<Record<string, string>>
  expect(Date.parse(expirationTimestamp ?? '')).toBeGreaterThan(Date.now() + 1_700_000_000)
  expect(await setup.userInfo(accessKey ?? '')).toMatchObject({
    username: 'grace',
    groups: expect.arrayContaining(['platform:user:grace']) as unknown,
  })
})

test('unknown name, no password, wrong password and a disabled User get one answer (25.5)', async () => {
  await world.createUser('locked', { disabled: true }, PASSWORD)
  await world.createUser('bare')
  await world.createUser('carol', {}, PASSWORD)
  const answers = await Promise.all(
    ['nobody-here', 'bare', 'locked', 'carol'].map((username) =>
      post({ username, password: username === 'carol' ? 'a wrong password' : PASSWORD }),
    ),
  )
  const seen = answers.map(({ code, body, headers }) => ({
    code,
    body: body.replaceAll(/reference [0-9a-f-]+/g, 'reference'),
    cookies: headers['set-cookie'],
  }))
  expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(1)
  expect(seen[0]).toMatchObject({
    code: 401,
    body: expect.stringContaining('The user name or the password is wrong') as unknown,
  })
})

test("another site's form is refused, and so is a program that has cookies (25.2, SF)", async () => {
  await world.createUser('frank', {}, PASSWORD)
  const fields = { username: 'frank', password: PASSWORD }
  const forged = await browser().forge(`${url}/auth/password/login`, fields, {
    from: 'https://evil.example.com',
  })
  expect(forged.status).toBe(403)
  const answer = await post(fields, { cookie: '__Host-platform_known=x' })
  expect(answer.code).toBe(403)
  expect(await loginKeys('frank')).toEqual([])
})

test('a changed password is in force at once and ends the keys of the old one; passwords can be switched off (25.5, 25.8)', async () => {
  await world.createUser('heidi', {}, PASSWORD)
  expect((await post({ username: 'heidi', password: PASSWORD })).code).toBe(200)
  await world.setPassword('heidi', 'another long password')
  await eventually(
    'the new password works',
    async () =>
      (await post({ username: 'heidi', password: 'another long password' })).code === 200 ||
      undefined,
    { withinMs: 60_000 },
  )
  await eventuallyPasses(
    'the key of the old password has ended for good',
    async () => {
      const conditions = (await keysOf('heidi')).flatMap(({ status }) => status?.conditions ?? [])
      const reasons = conditions.filter(({ type }) => type === 'Ready').map(({ reason }) => reason)
      expect(reasons.toSorted()).toEqual(['Active', 'IdentityGone'])
    },
    SOON,
  )
  await world.settings.declare({
    platformHost: 'platform.example.com',
    auth: { password: { disabled: true } },
  })
  await eventuallyPasses(
    'the page offers nothing',
    async () =>
      expect((await browser().navigate(`${url}/login`)).text).toContain(
        'No way to sign in is set up',
      ),
    SOON,
  )
  expect((await post({ username: 'heidi', password: 'another long password' })).code).toBe(404)
  await world.settings.declare({ platformHost: 'platform.example.com' })
})

test('no password, key or cookie is in the log, and the account reads no key (3.5, 25.1)', async () => {
  await world.createUser('ivan', {}, PASSWORD)
  const { body } = await post({ username: 'ivan', password: PASSWORD })
  const { accessKey } = JSON.parse(body) as { accessKey: string }
  const logs = [...world.replicas, ...setup.gateways].flatMap((one) => one.logs())
  expect(JSON.stringify(logs)).toContain('sign-in attempt')
  for (const secret of [PASSWORD, accessKey]) expect(JSON.stringify(logs)).not.toContain(secret)
  const as = ['--as', `system:serviceaccount:${SIGN_IN_NAMESPACE}:sign-in`]
  const answers = await Promise.all([
    plane.kubectl(['auth', 'can-i', 'get', 'ownedaccesskeys', ...as]),
    plane.kubectl(['auth', 'can-i', 'patch', 'ownedaccesskeys', ...as]),
    plane.kubectl(['auth', 'can-i', 'patch', 'configs', ...as]),
    plane.kubectl(['auth', 'can-i', 'get', 'secrets', '-n', 'platform-system', ...as]),
  ])
  expect(answers.map(({ stdout }) => stdout.trim())).toEqual(['no', 'no', 'no', 'no'])
})
