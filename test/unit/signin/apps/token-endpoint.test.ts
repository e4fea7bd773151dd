// Codes, and which app gets tokens for one (contract 26.2, 26.3).
import { describe, expect, it } from 'vitest'
import { refused } from '../../../support/fake-kube-client.ts'
import {
  arrive,
  askAsProgram,
  askForTokens,
  authorizeUrl,
  CLIENT_ID,
  CLIENT_SECRET,
  codeFor,
  exchange,
  OFFLINE,
  refreshWith,
  request,
  tokensFor,
  userinfo,
  WITH_APPS,
  worldWithApps,
  ENDINGS,
} from '../../../support/signin/app.ts'
import { FORM, signedIn } from '../../../support/signin/requests.ts'
import { PLATFORM, type SignInWorld } from '../../../support/signin/world.ts'

const TOOL = 'http://127.0.0.1:4711/cb'
const asTool = { client_id: 'tool', redirect_uri: TOOL }
const OTHERS = [
  { name: 'Other', clientId: 'other', clientSecret: 'x', redirectURIs: ['https://other.example'] },
]

const grantsIn = (world: SignInWorld) =>
  world.cluster.all('Secret').filter((one) => one.metadata.name.startsWith('oidc-'))
const keysIn = (world: SignInWorld) =>
  world.cluster.all('OwnedAccessKey').filter((one) => one.metadata.name.startsWith('oidc-'))

describe('an authorization code (26.3)', () => {
  it('makes a grant and no key without offline_access, and with it a key that owns the grant', async () => {
    const world = worldWithApps()
    await tokensFor(world)
    expect([grantsIn(world).length, keysIn(world).length]).toEqual([1, 0])
    const tokens = await tokensFor(world, OFFLINE)
    const [key] = keysIn(world)
    expect(key).toMatchObject({
      metadata: {
        ownerReferences: [{ kind: 'User', name: 'ada' }],
        finalizers: ['management.platform.sh/revoke'],
      },
      spec: {
        type: 'OIDCRefreshToken',
        user: 'ada',
        oidcProvider: {
          clientId: CLIENT_ID,
          nonce: 'the nonce',
          redirectUri: request()['redirect_uri'],
          scopes: 'openid groups offline_access',
        },
        key: expect.stringMatching(/^sha256:/) as unknown,
      },
    })
    expect(world.cluster.object('Secret', key?.metadata.name ?? '')).toMatchObject({
      type: 'management.platform.sh/app-grant',
      metadata: { ownerReferences: [{ kind: 'OwnedAccessKey', uid: key?.metadata.uid }] },
    })
    const stored = JSON.stringify(world.cluster.all('Secret').concat(keysIn(world)))
    const [, secret = ''] = String(tokens['refresh_token']).split('.')
    expect(stored).not.toContain(secret)
    expect(stored).not.toContain(Buffer.from(secret).toString('base64'))
  })

  it('works once: a second use ends what the first made, and a third makes nothing', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser(), OFFLINE)
    const first = await askForTokens(world, exchange(code))
    expect((await userinfo(world, first.json['access_token'])).status).toBe(200)
    for (const use of ['second', 'third']) {
      const { status, json } = await askForTokens(world, exchange(code))
      expect([use, status, json['error']]).toEqual([use, 400, 'invalid_grant'])
    }
    expect((await userinfo(world, first.json['access_token'])).status).toBe(401)
    expect(keysIn(world)).toEqual([])
    // The garbage collector would take a Secret whose owner is gone, and with it what stops the third use.
    expect(grantsIn(world)[0]?.metadata.ownerReferences).toBeUndefined()
    const refreshed = await askForTokens(world, refreshWith(first.json['refresh_token']))
    expect(refreshed.json['error']).toBe('invalid_grant')
  })

  it('works once without offline_access too', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser())
    const first = await askForTokens(world, exchange(code))
    expect((await askForTokens(world, exchange(code))).json['error']).toBe('invalid_grant')
    expect((await userinfo(world, first.json['access_token'])).status).toBe(401)
    expect((await askForTokens(world, exchange(code))).json['error']).toBe('invalid_grant')
  })

  it('is not taken while no key can sign', async () => {
    const world = worldWithApps({})
    // Keys are made when the process starts with apps.
    world.configure(WITH_APPS)
    const code = await codeFor(world.browser())
    const answer = await askForTokens(world, exchange(code))
    expect([answer.status, answer.json['error']]).toEqual([503, 'temporarily_unavailable'])
    expect(grantsIn(world)).toEqual([])
    const keys = await askAsProgram(world, { path: '/oidc/apps/keys' })
    expect([keys.status, JSON.parse(keys.body)]).toMatchObject([
      503,
      { error: 'temporarily_unavailable' },
    ])
  })

  it('ends with the button that signs the person out, as an access token does', async () => {
    const world = worldWithApps()
    const browser = await signedIn(world)
    const { access_token: token } = await tokensFor(world, {}, browser)
    const code = await codeFor(browser)
    await browser.submit(await browser.navigate(`${PLATFORM}/login`), '/auth/logout')
    expect((await askForTokens(world, exchange(code))).json['error']).toBe('invalid_grant')
    expect((await userinfo(world, token)).status).toBe(401)
  })

  it('ends what it made also while another replica writes that', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser(), OFFLINE)
    const first = await askForTokens(world, exchange(code))
    let conflicts = 0
    world.cluster.before = ({ verb }) => {
      if (verb !== 'replace' || conflicts === 3) return
      conflicts += 1
      throw refused(409, 'Conflict')
    }
    expect((await askForTokens(world, exchange(code))).json['error']).toBe('invalid_grant')
    const refreshed = await askForTokens(world, refreshWith(first.json['refresh_token']))
    expect([conflicts, refreshed.json['error']]).toEqual([3, 'invalid_grant'])
  })

  it('works once at two replicas at the same time', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser(), OFFLINE)
    const answers = await Promise.all([0, 1].map(() => askForTokens(world, exchange(code))))
    // The second use ends the first, which may have had its answer before.
    const good = answers.filter(({ status }) => status === 200)
    expect(good.length).toBeLessThanOrEqual(1)
    for (const { json } of good)
      expect((await userinfo(world, json['access_token'])).status).toBe(401)
    expect(keysIn(world)).toEqual([])
  })

  it('is good for a minute', async () => {
    const world = worldWithApps()
    const [one, other] = [await codeFor(world.browser()), await codeFor(world.browser())]
    await world.clock.advance(60_000)
    expect((await askForTokens(world, exchange(one))).status).toBe(200)
    await world.clock.advance(1)
    expect((await askForTokens(world, exchange(other))).json['error']).toBe('invalid_grant')
  })

  it.each([
    ['another verifier', { code_verifier: 'b'.repeat(43) }],
    ['a short verifier', { code_verifier: 'b' }],
    ['no verifier', { code_verifier: null }],
    ['another address', { redirect_uri: 'https://grafana.example/' }],
    ['no address', { redirect_uri: null }],
    ['another client', { client_id: 'other', client_secret: 'x' }],
    ['a public client', { client_id: 'tool', client_secret: null }],
    ['no code', { code: null }],
    ['another text', { code: 'a.b.c.d.e' }],
  ])('is refused, and still good for its app, with %s', async (_, differs) => {
    const world = worldWithApps()
    world.configure({
      oidc: {
        enabled: true,
        clients: [
          ...OTHERS,
          { name: 't', clientId: 'tool', redirectURIs: [TOOL] },
          {
            name: 'g',
            clientId: CLIENT_ID,
            clientSecret: CLIENT_SECRET,
            redirectURIs: [request()['redirect_uri'] ?? ''],
          },
        ],
      },
    })
    const code = await codeFor(world.browser())
    const entries = Object.entries({ ...exchange(code), ...differs })
    const fields = Object.fromEntries(
      entries.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    )
    expect((await askForTokens(world, fields)).json['error']).toBe('invalid_grant')
    expect(grantsIn(world)).toEqual([])
    expect((await askForTokens(world, exchange(code))).status).toBe(200)
  })

  it('is refused when it was changed, or sealed by another key', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser())
    const at = code.length - 30
    const changed = code.slice(0, at) + (code[at] === 'A' ? 'B' : 'A') + code.slice(at + 1)
    expect((await askForTokens(world, exchange(changed))).json['error']).toBe('invalid_grant')
    world.keys = [{ id: '00000001', key: Buffer.alloc(32, 9) }]
    expect((await askForTokens(world, exchange(code))).json['error']).toBe('invalid_grant')
  })

  it('needs no verifier where a client with a secret sent no challenge, and takes none then', async () => {
    const world = worldWithApps()
    const browser = await signedIn(world)
    const { code_challenge: _, code_challenge_method: __, ...parameters } = request()
    const back = await arrive(browser, authorizeUrl(parameters))
    const code = back.searchParams.get('code') ?? ''
    const { code_verifier: ___, ...fields } = exchange(code)
    expect((await askForTokens(world, exchange(code))).json['error']).toBe('invalid_grant')
    expect((await askForTokens(world, fields)).status).toBe(200)
  })

  it.each(ENDINGS)('makes nothing for a person who %s', async (_, spoil) => {
    const world = worldWithApps()
    const code = await codeFor(world.browser())
    spoil(world)
    expect((await askForTokens(world, exchange(code))).json['error']).toBe('invalid_grant')
    expect(grantsIn(world)).toEqual([])
  })

  it('leaves nothing behind that works when the key cannot be made', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser(), OFFLINE)
    world.cluster.before = ({ verb, kind }) => {
      if (verb === 'create' && kind === 'OwnedAccessKey') throw new Error('the API server is away')
    }
    expect(
      (
        await askAsProgram(world, {
          method: 'POST',
          path: '/oidc/apps/token',
          headers: { 'content-type': FORM },
          body: new URLSearchParams(exchange(code)).toString(),
        })
      ).status,
    ).toBe(503)
    world.cluster.before = () => undefined
    expect((await askForTokens(world, exchange(code))).json['error']).toBe('invalid_grant')
    expect(keysIn(world)).toEqual([])
  })
})

describe('a public client (26.2)', () => {
  it('gets tokens by its verifier alone', async () => {
    const world = worldWithApps()
    const code = await codeFor(await signedIn(world), asTool)
    const { client_secret: _, ...fields } = exchange(code, asTool)
    expect((await askForTokens(world, { ...fields, client_secret: 'x' })).json['error']).toBe(
      'invalid_client',
    )
    expect((await askForTokens(world, fields)).status).toBe(200)
  })

  it('that lost its secret gets none for a code without a challenge', async () => {
    const world = worldWithApps()
    const { code_challenge: _, code_challenge_method: __, ...parameters } = request()
    const back = await arrive(await signedIn(world), authorizeUrl(parameters))
    const uri = request()['redirect_uri'] ?? ''
    world.configure({
      oidc: { enabled: true, clients: [{ name: 'g', clientId: CLIENT_ID, redirectURIs: [uri] }] },
    })
    const fields = exchange(back.searchParams.get('code') ?? '')
    const { client_secret: ___, code_verifier: ____, ...without } = fields
    expect((await askForTokens(world, without)).json['error']).toBe('invalid_grant')
  })
})

describe('the grants of a person for one app (26.3)', () => {
  it('are 20: the oldest ends, but none of the last minute', async () => {
    const world = worldWithApps()
    const browser = await signedIn(world)
    const first = await tokensFor(world, OFFLINE, browser)
    await world.clock.advance(30_000)
    for (let at = 0; at < 20; at += 1) await tokensFor(world, OFFLINE, browser)
    expect(keysIn(world)).toHaveLength(21)
    await world.clock.advance(31_000)
    await tokensFor(world, OFFLINE, browser)
    expect((await askForTokens(world, refreshWith(first['refresh_token']))).json['error']).toBe(
      'invalid_grant',
    )
  })
})
