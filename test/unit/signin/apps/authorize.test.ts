// What an app asks for when it sends a person, and what becomes of it (contract 26.2, 26.3).
import { describe, expect, it } from 'vitest'
import { APP_CLIENT_LABEL } from '../../../../src/api/names.ts'
import { secretData } from '../../../../src/api/objects.ts'
import {
  arrive,
  authorizeUrl,
  CALLBACK,
  CLIENTS,
  codeFor,
  ISSUER,
  request,
  worldWithApps,
} from '../../../support/signin/app.ts'
import { signedIn } from '../../../support/signin/requests.ts'
import { PASSWORD, PLATFORM, type SignInWorld } from '../../../support/signin/world.ts'

type Parameters = Readonly<Record<string, string>>

const go = (world: SignInWorld, parameters: Parameters, browser = world.browser()) =>
  browser.navigate(authorizeUrl(parameters))

const without = (...names: readonly string[]): Parameters =>
  Object.fromEntries(Object.entries(request()).filter(([name]) => !names.includes(name)))

describe('a request whose client or address is wrong (26.2)', () => {
  it.each([
    ['an unknown client', request({ client_id: 'nobody' })],
    ['no client', without('client_id')],
    ['a name that every object has', request({ client_id: 'constructor' })],
    ['another address', request({ redirect_uri: 'https://evil.example/cb' })],
    ['an address with more behind it', request({ redirect_uri: `${CALLBACK}/x` })],
    ['an address with a fragment', request({ redirect_uri: `${CALLBACK}#x` })],
    ['no address', without('redirect_uri')],
    ['*', request({ redirect_uri: '*' })],
    ['a script', request({ redirect_uri: 'javascript:alert(1)' })],
    ["another client's address", request({ redirect_uri: 'com.example.tool:/cb' })],
  ])('ends at a page, and leads nowhere: %s', async (_, parameters) => {
    const world = worldWithApps()
    for (const browser of [world.browser(), await signedIn(world)]) {
      const page = await go(world, parameters, browser)
      expect([page.status, page.headers['location']]).toEqual([400, undefined])
      expect(page.text).not.toContain('evil')
    }
  })

  it('ends at a page when a parameter comes twice', async () => {
    const world = worldWithApps()
    for (const name of ['client_id', 'redirect_uri', 'state', 'nonce']) {
      const page = await world.browser().navigate(`${authorizeUrl(request()).href}&${name}=x`)
      expect([page.status, page.headers['location']]).toEqual([400, undefined])
    }
  })

  it('ends at a page for two clients of one id, and at none once one of them is gone', async () => {
    const world = worldWithApps()
    const declare = (clientId: string) =>
      world.cluster.put({
        kind: 'Secret',
        metadata: {
          name: 'twin',
          namespace: 'platform-sign-in',
          labels: { [APP_CLIENT_LABEL]: '' },
        },
        data: secretData({ clientId, clientSecret: 'x', redirectURIs: 'https://twin.example/cb' }),
      } as never)
    declare('grafana')
    expect((await go(world, request())).status).toBe(400)
    declare('twin')
    expect((await go(world, request())).status).toBe(200)
    expect(
      (await go(world, request({ client_id: 'twin', redirect_uri: 'https://twin.example/cb' })))
        .status,
    ).toBe(200)
  })

  it('is none of a path that exists while apps are off (26.1)', async () => {
    for (const settings of [{}, { oidc: { clients: CLIENTS } }, { oidc: { enabled: false } }]) {
      const world = worldWithApps(settings)
      for (const path of [
        'authorize',
        'keys',
        'token',
        'userinfo',
        '.well-known/openid-configuration',
      ])
        expect((await world.browser().navigate(`${ISSUER}/${path}`)).status).toBe(404)
    }
  })
})

describe('a request that is wrong otherwise (26.3)', () => {
  it.each([
    ['request_not_supported', { request: 'e30.e30.' }],
    ['request_uri_not_supported', { request_uri: 'https://app.example/r' }],
    ['registration_not_supported', { registration: '{}' }],
    ['unsupported_response_type', { response_type: 'token' }],
    ['unsupported_response_type', { response_type: 'code id_token' }],
    ['invalid_request', { response_type: null }],
    ['invalid_request', { response_mode: 'fragment' }],
    ['invalid_request', { response_mode: 'form_post' }],
    ['invalid_scope', { scope: 'profile' }],
    ['invalid_scope', { scope: null }],
    ['invalid_scope', { scope: 'OPENID' }],
    ['invalid_request', { code_challenge_method: 'plain' }],
    ['invalid_request', { code_challenge_method: null }],
    ['invalid_request', { code_challenge: 'short' }],
    ['invalid_request', { code_challenge: null }],
    ['invalid_request', { prompt: 'none login' }],
    ['invalid_request', { prompt: 'create' }],
    ['invalid_request', { max_age: '-1' }],
    ['invalid_request', { max_age: 'soon' }],
    ['invalid_request', { nonce: 'a'.repeat(1025) }],
    ['invalid_request', { nonce: 'ä' }],
    ['login_required', { prompt: 'none' }],
  ])('tells the app %s for %j', async (error, differs: Readonly<Record<string, string | null>>) => {
    const entries = Object.entries({ ...request(), ...differs })
    const parameters = Object.fromEntries(
      entries.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    )
    const back = await arrive(worldWithApps().browser(), authorizeUrl(parameters))
    expect(back.href.startsWith(`${CALLBACK}?`)).toBe(true)
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error,
      error_description: expect.any(String) as unknown,
      state: 'the state',
      iss: ISSUER,
    })
  })

  it('tells a public client that it must send a challenge', async () => {
    const asked = { client_id: 'tool', redirect_uri: 'http://127.0.0.1:4711/cb' }
    const { code_challenge: _, code_challenge_method: __, ...parameters } = request(asked)
    const back = await arrive(worldWithApps().browser(), authorizeUrl(parameters))
    expect(back.searchParams.get('error')).toBe('invalid_request')
  })

  it.each([
    ['is too long', 'a'.repeat(1025)],
    ['is not ASCII', 'ä'],
    ['has a line break', 'a\r\nb'],
  ])('sends no state back that %s', async (_, state) => {
    const back = await arrive(worldWithApps().browser(), authorizeUrl(request({ state })))
    expect([back.searchParams.get('error'), back.searchParams.get('state')]).toEqual([
      'invalid_request',
      null,
    ])
  })
})

describe('a person who is signed in (26.3)', () => {
  it('goes straight back, with code, state and issuer', async () => {
    const world = worldWithApps()
    const back = await arrive(await signedIn(world), authorizeUrl(request()))
    expect([...back.searchParams.keys()]).toEqual(['code', 'state', 'iss'])
    expect(back.searchParams.get('state')).toBe('the state')
  })

  it('goes to an address with a query of its own, which stays as it is', async () => {
    const uri = 'https://app.example/cb?a=%7e&b'
    const world = worldWithApps({
      oidc: { enabled: true, clients: [{ clientId: 'app', redirectURIs: [uri], name: 'a' }] },
    })
    const parameters = request({ client_id: 'app', redirect_uri: uri })
    const page = await (await signedIn(world)).navigate(authorizeUrl(parameters))
    expect(page.headers['location']).toMatch(/^https:\/\/app\.example\/cb\?a=%7e&b&code=/)
  })

  it('has none once the gateway refuses the key, or the User is disabled or another one', async () => {
    const breaks: Readonly<Record<string, (world: SignInWorld) => void>> = {
      gateway: (world) => {
        world.gatewayWorks = false
      },
      disabled: (world) => world.disable('ada'),
      another: (world) => {
        world.cluster.remove('User', 'ada')
        world.user('ada')
      },
    }
    for (const [name, spoil] of Object.entries(breaks)) {
      const world = worldWithApps()
      const browser = await signedIn(world)
      spoil(world)
      const back = await arrive(browser, authorizeUrl(request({ prompt: 'none' })))
      expect([name, back.searchParams.get('error')]).toEqual([name, 'login_required'])
    }
  })

  it('is not sent more than 60 times a minute', async () => {
    const world = worldWithApps()
    const browser = await signedIn(world)
    const errorNow = async (): Promise<string | null> =>
      (await arrive(browser, authorizeUrl(request()))).searchParams.get('error')
    for (let at = 0; at < 60; at += 1) expect(await errorNow()).toBeNull()
    expect(await errorNow()).toBe('temporarily_unavailable')
    await world.clock.advance(60_000)
    expect(await errorNow()).toBeNull()
  })
})

describe('a person who signs in first (26.3)', () => {
  const login = { username: 'ada', password: PASSWORD }

  // Browsers apply the policy to each redirect after the form, also to those of the app itself.
  it.each([
    ['com.example.tool:/cb', 'com.example.tool:'],
    ['http://127.0.0.1:4711/cb', 'http://127.0.0.1:4711'],
    // Chromium ignores a source with an IPv6 address.
    ['http://[::1]:4711/cb', 'http:'],
  ])('comes back to an app at %s', async (uri, source) => {
    const world = worldWithApps()
    const browser = world.browser()
    const page = await go(world, request({ client_id: 'tool', redirect_uri: uri }), browser)
    expect(String(page.headers['content-security-policy'])).toContain(
      `form-action 'self' ${source} https:;`,
    )
    const end = await browser.submit(page, '/auth/password/login', login)
    expect(String(end.headers['location']).startsWith(`${uri}?code=`)).toBe(true)
  })

  it('comes back by a provider too', async () => {
    const world = worldWithApps()
    world.user('grace', { identities: [{ connector: 'oidc', subject: world.identity.subject }] })
    world.identity = { ...world.identity, username: 'grace' }
    const browser = world.browser()
    const page = await go(world, request(), browser)
    const begun = await browser.click(page, 'Sign in with')
    const state = new URL(String(begun.headers['location'])).searchParams.get('state')
    const end = await browser.navigate(`${PLATFORM}/auth/oidc/callback?code=right&state=${state}`, {
      from: 'https://provider.example',
    })
    expect(String(end.headers['location'])).toContain(`${CALLBACK}?code=`)
  })

  it('keeps no cookie of the request afterwards, and cannot use it again', async () => {
    const world = worldWithApps()
    const browser = world.browser()
    const page = await go(world, request(), browser)
    const next = page.url.searchParams.get('next') ?? ''
    await browser.submit(page, '/auth/password/login', login)
    const again = await browser.navigate(`${PLATFORM}${next}`)
    expect(again.status).toBe(400)
    expect(again.text).toContain('has ended')
  })

  it('finds the request gone after ten minutes, in another browser, or by another id', async () => {
    const world = worldWithApps()
    const browser = world.browser()
    const next = (await go(world, request(), browser)).url.searchParams.get('next') ?? ''
    expect((await world.browser().navigate(`${PLATFORM}${next}`)).status).toBe(400)
    for (const id of ['00000000', '../x', ''])
      expect((await browser.navigate(`${ISSUER}/authorize?resume=${id}`)).status).toBe(400)
    await world.clock.advance(600_001)
    expect((await browser.navigate(`${PLATFORM}${next}`)).status).toBe(400)
  })

  it('ends at a page when the app lost its address meanwhile', async () => {
    const world = worldWithApps()
    const browser = world.browser()
    const page = await go(world, request(), browser)
    world.configure({ oidc: { enabled: true, clients: [] } })
    const end = await browser.submit(page, '/auth/password/login', login)
    expect([end.status, end.headers['location']]).toEqual([400, undefined])
  })

  it.each([
    ['prompt=login', { prompt: 'login' }],
    ['prompt=select_account', { prompt: 'select_account consent' }],
    ['max_age=0', { max_age: '0' }],
    ['max_age that is over', { max_age: '59' }],
  ])('signs in again for %s', async (_, differs) => {
    const world = worldWithApps()
    const browser = await signedIn(world)
    await world.clock.advance(60_000)
    const page = await go(world, request(differs), browser)
    expect(page.text).toContain('User name')
    const next = page.url.searchParams.get('next') ?? ''
    // With the same session as before, the page only comes again.
    const again = await browser.navigate(`${PLATFORM}${next}`)
    expect(again.url.pathname).toBe('/login')
    await world.clock.advance(1000)
    const end = await browser.submit(again, '/auth/password/login', login)
    expect(String(end.headers['location'])).toContain(`${CALLBACK}?code=`)
  })

  it.each([
    ['max_age that is not over', { max_age: '60' }],
    ['prompt=consent', { prompt: 'consent' }],
    ['prompt=none', { prompt: 'none' }],
  ])('need not sign in again for %s', async (_, differs) => {
    const world = worldWithApps()
    const browser = await signedIn(world)
    await world.clock.advance(60_000)
    expect(await codeFor(browser, differs)).not.toBe('')
  })
})
