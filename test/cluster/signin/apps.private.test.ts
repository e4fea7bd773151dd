// An app that signs people in through the platform, on a real control plane: operator, policies, gateway and sign-in process
// (contract 26).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as oidc from 'openid-client'
import { expect, onTestFinished, test } from 'vitest'
import { APP_CLIENT_LABEL } from '../../../src/api/names.ts'
import { type ShownPage, openBrowser } from '../../support/browser/browser.ts'
import { senderTo } from '../../support/browser/https-sender.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { ask } from '../../support/gateway-process.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import {
  begin,
  bodyText,
  CALLBACK,
  CLIENT_SECRET,
  discoverAt,
  responseOf,
} from '../../support/signin/app.ts'
import { SOON } from '../gateway/test-gateway.ts'
import { ensureOidcClient } from '../../../tools/oidc-client/program.ts'
import { startProgram } from './command-line.ts'
import { SIGN_IN_NAMESPACE, startSignInWorld } from './sign-in-world.ts'

const world = await startSignInWorld(await privateControlPlane())
const { setup, url } = world
const { plane, ca } = setup
const PASSWORD = 'correct horse battery'

await world.settings.declare({ platformHost: 'platform.example.com', oidc: { enabled: true } })
const client = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'grafana',
    namespace: SIGN_IN_NAMESPACE,
    labels: { [APP_CLIENT_LABEL]: 'true' },
  },
  stringData: {
    name: 'Grafana',
    clientId: 'grafana',
    clientSecret: CLIENT_SECRET,
    redirectURIs: CALLBACK,
  },
}
await mustKubectl(plane, ['create', '-f', '-'], { input: JSON.stringify(client) })
await world.createUser('ada', { displayName: 'Ada', email: 'ada@example.com' }, PASSWORD)
const team = {
  apiVersion: 'management.platform.sh/v1',
  kind: 'Team',
  metadata: { name: 'sre' },
  spec: { users: ['ada'] },
}
await mustKubectl(plane, ['create', '-f', '-'], { input: JSON.stringify(team) })

/** Asks the gateway, as openid-client has it. */
const send: oidc.CustomFetch = async (address, { method, headers, body }) => {
  const text = bodyText(body)
  const sent = text === '' ? {} : { body: text }
  const passed = Object.fromEntries(new Headers(headers))
  const answer = await ask(address, { ca, method, headers: passed, ...sent })
  return responseOf(answer.code, answer.headers, answer.body)
}

const discover = (): Promise<oidc.Configuration> =>
  discoverAt(`${url}/oidc/apps`, send, { auth: oidc.ClientSecretBasic(CLIENT_SECRET) })
await eventuallyPasses('apps are served', async () => void (await discover()), SOON)
const hasKeys = async (): Promise<void> =>
  expect((await ask(`${url}/oidc/apps/keys`, { ca })).code).toBe(200)
await eventuallyPasses('there are keys', hasKeys, SOON)
const app = await discover()

/** A browser that stops at the app. */
const browser = openBrowser({
  send: senderTo({ [url]: { port: Number(new URL(url).port), ca } }),
  stopsAt: ({ origin }) => origin !== url,
})

/** The person goes to the platform and back. */
async function goThrough(parameters: Readonly<Record<string, string>> = {}) {
  const { url: start, checks } = await begin(app, parameters)
  const end = await passLogin(start)
  return { back: new URL(String(end.headers['location'])), checks }
}

/** The person goes where an app sends them, and signs in where the platform asks. @returns the answer that leads back */
async function passLogin(start: URL): Promise<ShownPage> {
  const page = await browser.navigate(start, { from: 'https://grafana.example' })
  return page.url.pathname.startsWith('/login')
    ? browser.submit(page, '/auth/password/login', { username: 'ada', password: PASSWORD })
    : page
}

const refreshKeys = async (): Promise<readonly string[]> => {
  const { items } = JSON.parse(await mustKubectl(plane, ['get', 'oak', '-o', 'json'])) as {
    items: { metadata: { name: string; deletionTimestamp?: string } }[]
  }
  return items
    .filter(
      ({ metadata: { name, deletionTimestamp } }) => name.startsWith('oidc-') && !deletionTimestamp,
    )
    .map(({ metadata }) => metadata.name)
}

const OFFLINE = { scope: 'openid profile email groups offline_access', prompt: 'consent' }

test('openid-client signs a person in, asks userinfo and refreshes, through the gateway (26.1, 26.3)', async () => {
  const { back, checks } = await goThrough(OFFLINE)
  const tokens = await oidc.authorizationCodeGrant(app, back, checks)
  const claims = {
    name: 'Ada',
    preferred_username: 'ada',
    email: 'ada@example.com',
    groups: ['sre'],
  }
  expect(tokens.claims()).toMatchObject({ ...claims, aud: 'grafana', token_use: 'app' })
  const { sub = '' } = tokens.claims() ?? {}
  expect(await oidc.fetchUserInfo(app, tokens.access_token, sub)).toEqual({ sub, ...claims })
  const [name = ''] = await refreshKeys()
  expect(JSON.parse(await mustKubectl(plane, ['get', 'oak', name, '-o', 'json']))).toMatchObject({
    metadata: { ownerReferences: [{ kind: 'User', name: 'ada', uid: sub }] },
    spec: { type: 'OIDCRefreshToken', user: 'ada', oidcProvider: { clientId: 'grafana' } },
  })
  const refreshed = await oidc.refreshTokenGrant(app, tokens.refresh_token ?? '')
  expect(refreshed.claims()).toMatchObject({ sub, groups: ['sre'] })
  for (const bearer of [tokens.access_token, tokens.id_token, refreshed.refresh_token])
    expect((await setup.ask(bearer ?? '', '/api')).code).toBe(401)
  // Who deletes the key ends the refresh token: the garbage collector takes the grant with it.
  await mustKubectl(plane, ['delete', 'oak', name, '--wait'])
  await eventuallyPasses(
    'the refresh token has ended',
    () =>
      expect(oidc.refreshTokenGrant(app, refreshed.refresh_token ?? '')).rejects.toMatchObject({
        error: 'invalid_grant',
      }),
    SOON,
  )
})

test('an app in Go signs a person in, asks userinfo and refreshes, through the gateway (26.1, 26.3)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'oidc-client-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, ca)
  const program = await ensureOidcClient((line) => console.error(line))
  const scopes = OFFLINE.scope.split(' ')
  const args = [`${url}/oidc/apps`, 'grafana', CLIENT_SECRET, CALLBACK, ...scopes]
  const running = startProgram(program, args, { CA_FILE: caFile })
  const end = await passLogin(new URL(await running.says(/^(https:.*)$/m)))
  running.type(String(end.headers['location']))
  const { code, stdout, stderr } = await running.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const claims = { name: 'Ada', email: 'ada@example.com', groups: ['sre'] }
  expect(JSON.parse(stdout.split('\n')[1] ?? '')).toMatchObject({
    claims: { ...claims, token_use: 'app' },
    userinfo: claims,
    refreshed: claims,
  })
})

test('a code that comes twice ends what the first use made (26.3)', async () => {
  const { back, checks } = await goThrough(OFFLINE)
  const tokens = await oidc.authorizationCodeGrant(app, back, checks)
  const before = await refreshKeys()
  for (const _ of ['second', 'third'])
    await expect(oidc.authorizationCodeGrant(app, back, checks)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
  await expect(oidc.refreshTokenGrant(app, tokens.refresh_token ?? '')).rejects.toMatchObject({
    error: 'invalid_grant',
  })
  await expect(
    oidc.fetchUserInfo(app, tokens.access_token, oidc.skipSubjectCheck),
  ).rejects.toMatchObject({ status: 401 })
  expect(await refreshKeys()).toHaveLength(before.length - 1)
})

test('a User that is disabled ends refreshing and userinfo, and brings them back (26.3)', async () => {
  const { back, checks } = await goThrough(OFFLINE)
  const tokens = await oidc.authorizationCodeGrant(app, back, checks)
  const disable = (disabled: boolean) =>
    mustKubectl(plane, [
      'patch',
      'user',
      'ada',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { disabled } }),
    ])
  await disable(true)
  await expect(oidc.refreshTokenGrant(app, tokens.refresh_token ?? '')).rejects.toMatchObject({
    error: 'invalid_grant',
  })
  await expect(
    oidc.fetchUserInfo(app, tokens.access_token, oidc.skipSubjectCheck),
  ).rejects.toMatchObject({ status: 401 })
  await disable(false)
  const again = await oidc.refreshTokenGrant(app, tokens.refresh_token ?? '')
  expect(again.refresh_token).toBeDefined()
})

test('neither log has a secret of the app, a code or a token (3.5)', async () => {
  const { back, checks } = await goThrough(OFFLINE)
  const tokens = await oidc.authorizationCodeGrant(app, back, checks)
  const logs = JSON.stringify([...world.replicas, ...setup.gateways].flatMap((one) => one.logs()))
  expect(logs).toContain('tokens for an app')
  const { access_token: accessToken, id_token: idToken, refresh_token: refreshToken } = tokens
  const basic = Buffer.from(`grafana:${CLIENT_SECRET}`).toString('base64')
  for (const secret of [accessToken, idToken, refreshToken, CLIENT_SECRET, basic])
    expect(logs).not.toContain(secret)
  expect(logs).not.toContain(back.searchParams.get('code'))
})

test('an app that is declared twice works for nobody, and SignInReady says so (26.2)', async () => {
  const twin = { ...client, metadata: { ...client.metadata, name: 'twin' } }
  await mustKubectl(plane, ['create', '-f', '-'], { input: JSON.stringify(twin) })
  await eventuallyPasses(
    'SignInReady names both',
    async () => {
      const { status } = await world.settings.read()
      const ready = status?.conditions?.find(({ type }) => type === 'SignInReady')
      expect(ready).toMatchObject({
        status: 'False',
        message: expect.stringContaining(
          'Secret grafana: has the clientId of Secret twin',
        ) as unknown,
      })
    },
    SOON,
  )
  expect((await browser.navigate((await begin(app)).url)).status).toBe(400)
  await mustKubectl(plane, ['delete', 'secret', 'twin', '-n', SIGN_IN_NAMESPACE])
})
