// An app that signs people in through the platform: openid-client, which speaks to a process of signing in as the gateway passes
// its requests on.
import { createHash } from 'node:crypto'
import * as oidc from 'openid-client'
import type { ConfigSettings } from '../../../src/api/config.gen.ts'
import { signInRequestHeaders } from '../../../src/gateway/signin/request-headers.ts'
import type { Browser, BrowserAnswer } from '../browser/browser.ts'
import { FORM } from './requests.ts'
import { PASSWORD, PLATFORM, SignInWorld } from './world.ts'

export const ISSUER = `${PLATFORM}/oidc/apps`
export const CLIENT_ID = 'grafana'
export const CLIENT_SECRET = 'the secret of grafana'
export const CALLBACK = 'https://grafana.example/login/generic_oauth'
/** The client of every world, and a public one. */
export const CLIENTS = [
  { name: 'Grafana', clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, redirectURIs: [CALLBACK] },
  { name: 'Tool', clientId: 'tool', redirectURIs: ['com.example.tool:/cb'] },
]
/** Settings with apps. */
export const WITH_APPS = { oidc: { enabled: true, clients: CLIENTS } }

/** A request of a program, as it sends it to the gateway. */
interface ProgramRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Asks as a program does, by way of the gateway's rules for headers. */
export const askAsProgram = (
  world: SignInWorld,
  { method = 'GET', path, headers = {}, body = '' }: ProgramRequest,
): Promise<BrowserAnswer> => {
  const url = new URL(path, PLATFORM)
  const passed = signInRequestHeaders({
    id: 'request-1',
    method,
    target: url.pathname + url.search,
    rawHeaders: Object.entries(headers).flat(),
    remoteAddress: '192.0.2.7',
  })
  return world.sendRaw({
    method,
    url,
    headers: passed as Readonly<Record<string, string>>,
    body,
  })
}

/** Posts a form to the token endpoint. @returns status and JSON */
export async function askForTokens(
  world: SignInWorld,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly json: Record<string, unknown> } & BrowserAnswer> {
  const answer = await askAsProgram(world, {
    method: 'POST',
    path: '/oidc/apps/token',
    headers: { 'content-type': FORM, accept: 'application/json', ...headers },
    body: new URLSearchParams(fields).toString(),
  })
  return { ...answer, json: JSON.parse(answer.body) as Record<string, unknown> }
}

/** Who an app is. */
interface AppIdentity {
  readonly id?: string
  readonly auth?: oidc.ClientAuth
}

/** openid-client, set up by discovery. @param skewSeconds of the platform's clock */
export const discoverAt = (
  issuer: string,
  fetch: oidc.CustomFetch,
  { id = CLIENT_ID, auth = oidc.ClientSecretPost(CLIENT_SECRET) }: AppIdentity = {},
  skewSeconds = 0,
): Promise<oidc.Configuration> =>
  oidc.discovery(new URL(issuer), id, { [oidc.clockSkew]: skewSeconds }, auth, {
    execute: [oidc.enableNonRepudiationChecks],
    [oidc.customFetch]: fetch,
  })

/** The same, at a process of signing in. */
export function discovered(
  world: SignInWorld,
  identity: AppIdentity = {},
): Promise<oidc.Configuration> {
  const send: oidc.CustomFetch = async (address, { method, headers, body }) => {
    const { pathname, search } = new URL(address)
    const answer = await askAsProgram(world, {
      method,
      path: pathname + search,
      headers: Object.fromEntries(new Headers(headers)),
      body: bodyText(body),
    })
    return responseOf(answer.status, answer.headers, answer.body)
  }
  const skewSeconds = Math.round((world.clock.nowMs() - Date.now()) / 1000)
  return discoverAt(ISSUER, send, identity, skewSeconds)
}

/** The body that openid-client sends. */
export const bodyText = (body: unknown): string =>
  body instanceof URLSearchParams || typeof body === 'string' ? body.toString() : ''

/** The answer as openid-client takes it. */
export const responseOf = (status: number, headers: object, body: string): Response =>
  new Response(body, { status, headers: headers as Record<string, string> })

/** An authorization that an app has begun. */
export interface Begun {
  readonly url: URL
  readonly checks: { pkceCodeVerifier: string; expectedState: string; expectedNonce: string }
}

/** The app sends a person, with PKCE, state and nonce. */
export async function begin(
  config: oidc.Configuration,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Begun> {
  const verifier = oidc.randomPKCECodeVerifier()
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()]
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: 'openid profile email groups',
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    ...parameters,
  })
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
  return { url, checks }
}

/** The address of the app at which a browser arrives, after its person signs in with a password where that is asked. */
export async function arrive(browser: Browser, url: URL): Promise<URL> {
  const page = await browser.navigate(url, { from: 'https://grafana.example' })
  const end = page.url.pathname.startsWith('/login')
    ? await browser.submit(page, '/auth/password/login', { username: 'ada', password: PASSWORD })
    : page
  const { location } = end.headers
  if (typeof location !== 'string') throw new Error(`no redirect: ${end.status} ${end.text}`)
  return new URL(location)
}

/** A platform with apps, and ada in team sre. */
export function worldWithApps(settings: ConfigSettings = WITH_APPS): SignInWorld {
  const world = new SignInWorld(settings)
  world.userWithPassword('ada', { displayName: 'Ada Lovelace', email: 'ada@example.com' })
  world.cluster.put({ kind: 'Team', metadata: { name: 'sre' }, spec: { users: ['ada'] } } as never)
  return world
}

const VERIFIER = 'verifier-'.repeat(6)

/** The parameters of a request of the client of every world. */
export const request = (
  differs: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => ({
  client_id: CLIENT_ID,
  redirect_uri: CALLBACK,
  response_type: 'code',
  scope: 'openid profile email groups',
  state: 'the state',
  nonce: 'the nonce',
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
  ...differs,
})

/** The address that such a request leads to. */
export const authorizeUrl = (parameters: Readonly<Record<string, string>>): URL =>
  new URL(`${ISSUER}/authorize?${new URLSearchParams(parameters).toString()}`)

/** The form by which an app exchanges the code of such a request. */
export const exchange = (
  code: string,
  differs: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: CALLBACK,
  code_verifier: VERIFIER,
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
  ...differs,
})

/** The form by which an app refreshes. */
export const refreshWith = (
  token: unknown,
  differs: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => ({
  grant_type: 'refresh_token',
  refresh_token: String(token),
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
  ...differs,
})

/** A code for ada. */
export async function codeFor(
  browser: Browser,
  differs: Readonly<Record<string, string>> = {},
): Promise<string> {
  const back = await arrive(browser, authorizeUrl(request(differs)))
  const code = back.searchParams.get('code')
  if (code === null) throw new Error(`no code: ${back.href}`)
  return code
}

/** The tokens of a sign-in of ada. */
export async function tokensFor(
  world: SignInWorld,
  differs: Readonly<Record<string, string>> = {},
  browser = world.browser(),
): Promise<Readonly<Record<string, unknown>>> {
  const { status, json } = await askForTokens(world, exchange(await codeFor(browser, differs)))
  if (status !== 200) throw new Error(`no tokens: ${JSON.stringify(json)}`)
  return json
}

/** Asks about the person of an access token. */
export const userinfo = (world: SignInWorld, token: unknown, method = 'GET') =>
  askAsProgram(world, {
    method,
    path: '/oidc/apps/userinfo',
    headers: { authorization: `Bearer ${String(token)}`, accept: 'application/json' },
  })

/** The scopes of a sign-in that goes on without its person. */
export const OFFLINE = { scope: 'openid groups offline_access' }

/** What ends everything that a person was granted without offline_access, each with the words that say so. */
export const ENDINGS: readonly (readonly [string, (world: SignInWorld) => void])[] = [
  ['is disabled', (world) => world.disable('ada')],
  ['is gone', (world) => world.cluster.remove('User', 'ada')],
  [
    'is another one of the name',
    (world) => {
      world.cluster.remove('User', 'ada')
      world.user('ada')
    },
  ],
  [
    'has signed out',
    (world) => {
      for (const { metadata } of world.cluster.all('Secret'))
        if (metadata.name.startsWith('login-')) world.cluster.remove('Secret', metadata.name)
    },
  ],
]
