// Parameters of a request that have no value, and whom an app expects (contract 26.3).
import { describe, expect, it } from 'vitest'
import {
  arrive,
  authorizeUrl,
  codeFor,
  request,
  tokensFor,
  worldWithApps,
} from '../../../support/signin/app.ts'
import { signedIn } from '../../../support/signin/requests.ts'
import { PASSWORD, type SignInWorld } from '../../../support/signin/world.ts'

type Parameters = Readonly<Record<string, string>>

const go = (world: SignInWorld, parameters: Parameters, browser = world.browser()) =>
  browser.navigate(authorizeUrl(parameters))

describe('a parameter without a value (26.3)', () => {
  const EMPTY = {
    state: '',
    nonce: '',
    response_mode: '',
    prompt: '',
    max_age: '',
    code_challenge: '',
    code_challenge_method: '',
    request: '',
    request_uri: '',
    id_token_hint: '',
  }

  it('counts as left out', async () => {
    const world = worldWithApps()
    const back = await arrive(await signedIn(world), authorizeUrl(request(EMPTY)))
    expect([...back.searchParams.keys()]).toEqual(['code', 'iss'])
  })

  it('is no challenge of a public client', async () => {
    const asTool = { client_id: 'tool', redirect_uri: 'com.example.tool:/cb' }
    const world = worldWithApps()
    const page = await go(world, request({ ...EMPTY, ...asTool }), await signedIn(world))
    expect(page.headers['location']).toContain('error=invalid_request')
  })

  it('is no scope, no type and no client', async () => {
    const world = worldWithApps()
    const errorFor = async (differs: Parameters) =>
      (await arrive(world.browser(), authorizeUrl(request(differs)))).searchParams.get('error')
    expect(await errorFor({ scope: '' })).toBe('invalid_scope')
    expect(await errorFor({ response_type: '' })).toBe('invalid_request')
    expect((await go(world, request({ client_id: '' }))).status).toBe(400)
  })
})

/** An ID token as an app has kept it: nobody verifies it. */
const hintOf = (claims: object): string =>
  ['{"alg":"ES256"}', JSON.stringify(claims), 'x']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')

describe('an app that expects a person, by id_token_hint (26.3)', () => {
  const uidOf = (world: SignInWorld): string =>
    world.cluster.object('User', 'ada')?.metadata.uid ?? ''

  it('gets that person', async () => {
    const world = worldWithApps()
    const browser = await signedIn(world)
    const { id_token: hint } = await tokensFor(world, {}, browser)
    const prompt = { prompt: 'none', id_token_hint: String(hint) }
    expect(await codeFor(browser, prompt)).not.toBe('')
  })

  it.each([
    ['another person', hintOf({ sub: 'uid-of-grace' })],
    ['nobody', hintOf({})],
    ['a number', hintOf({ sub: 1 })],
    ['nothing readable', 'x'],
  ])('gets nobody else, without a page: %s', async (_, hint) => {
    const world = worldWithApps()
    const asked = request({ prompt: 'none', id_token_hint: hint })
    const back = await arrive(await signedIn(world), authorizeUrl(asked))
    expect(back.searchParams.get('error')).toBe('login_required')
  })

  it.each([
    ['ada', true],
    ['another', false],
  ])('gets the person who signs in for it, and no other: it expects %s', async (_, isRight) => {
    const world = worldWithApps()
    const sub = isRight ? uidOf(world) : 'uid-of-grace'
    const browser = isRight ? world.browser() : await signedIn(world)
    // A token may be longer than a cookie: of it the person alone is kept.
    const groups = Array.from({ length: 200 }, () => 'a team of many names')
    const page = await go(world, request({ id_token_hint: hintOf({ sub, groups }) }), browser)
    await world.clock.advance(1000)
    const login = { username: 'ada', password: PASSWORD }
    const end = await browser.submit(page, '/auth/password/login', login)
    const answer = new URL(String(end.headers['location'])).searchParams
    expect([answer.has('code'), answer.get('error')]).toEqual([
      isRight,
      isRight ? null : 'login_required',
    ])
  })
})
