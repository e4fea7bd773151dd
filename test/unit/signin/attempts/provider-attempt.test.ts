import { describe, expect, it } from 'vitest'
import { attemptCookie, attemptOf, sealAttempt } from '../../../../src/signin/attempts/attempt.ts'
import { SESSION_COOKIE } from '../../../../src/signin/http/cookies.ts'
import type { Browser, ShownPage } from '../../../support/browser/browser.ts'
import {
  fakeProvider,
  identityOf,
  PLATFORM,
  PROVIDER,
  sealingKeys,
  SignInWorld,
} from '../../../support/signin/world.ts'

const LOGIN = new URL('/login', PLATFORM)

/** Begins at a provider. @returns what the provider's address has */
async function begin(browser: Browser, id = 'oidc', query = '') {
  const page = await browser.navigate(`${PLATFORM}/auth/${id}/login${query}`)
  const { searchParams } = new URL(String(page.headers['location']))
  return { state: searchParams.get('state') ?? '', nonce: searchParams.get('nonce') ?? '' }
}

/** The browser comes back from the provider. */
const callback = (
  browser: Browser,
  state: string,
  { id = 'oidc', code = 'right' } = {},
): Promise<ShownPage> =>
  browser.navigate(`${PLATFORM}/auth/${id}/callback?code=${code}&state=${state}`, {
    from: PROVIDER,
  })

describe('an attempt at a provider (25.3)', () => {
  it('signs the person in, in the browser that began it', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    const { state } = await begin(browser)
    const page = await callback(browser, state)
    expect(page.text).toContain('Signed in as ada')
    expect(browser.jar.names(LOGIN)).toEqual(
      expect.arrayContaining([SESSION_COOKIE, '__Host-platform_known']),
    )
    expect(browser.jar.names(LOGIN, 'script')).toEqual([])
    expect(browser.jar.names(LOGIN)).not.toContain(attemptCookie(state))
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(1)
  })

  it.each<readonly [string, (world: SignInWorld, own: Browser) => Promise<ShownPage>]>([
    [
      'another browser',
      async (world, own) => {
        const { state } = await begin(own)
        return callback(world.browser(), state)
      },
    ],
    ['a state that no attempt has', async (_, own) => callback(own, 'a'.repeat(43))],
    [
      'no state',
      async (_, own) => {
        await begin(own)
        return own.navigate(`${PLATFORM}/auth/oidc/callback?code=right`)
      },
    ],
    [
      'another attempt of the same browser, by its cookie under the name of this one',
      async (world, own) => {
        const [one, other] = [await begin(own), await begin(own)]
        const value = own.jar.value(LOGIN, attemptCookie(other.state))
        const stranger = world.browser()
        stranger.jar.store(
          [`${attemptCookie(one.state)}=${value}; Secure; Path=/; HttpOnly`],
          LOGIN,
        )
        return callback(stranger, one.state)
      },
    ],
    [
      'the callback of another provider (mix-up)',
      async (_, own) => {
        const { state } = await begin(own)
        return callback(own, state, { id: 'other' })
      },
    ],
    [
      'more than ten minutes later, with a cookie that a thief keeps',
      async (world, own) => {
        const { state } = await begin(own)
        const value = own.jar.value(LOGIN, attemptCookie(state))
        await world.clock.advance(600_001)
        own.jar.store([`${attemptCookie(state)}=${value}; Secure; Path=/; HttpOnly`], LOGIN)
        return callback(own, state)
      },
    ],
    [
      'keys that no longer seal',
      async (world, own) => {
        const { state } = await begin(own)
        world.keys = sealingKeys('00000002', 2)
        return callback(own, state)
      },
    ],
    [
      'a cookie that comes twice',
      async (world, own) => {
        const { state } = await begin(own)
        const cookie = `${attemptCookie(state)}=${own.jar.value(LOGIN, attemptCookie(state))}`
        const url = new URL(`${PLATFORM}/auth/oidc/callback?code=right&state=${state}`)
        const headers = { cookie: `${cookie}; ${cookie}`, accept: 'text/html' }
        const answer = await world.send({ method: 'GET', url, headers, body: '' })
        return { ...answer, text: answer.body } as ShownPage
      },
    ],
  ])('is not ended by %s (25.3, SA)', async (_, attack) => {
    const world = new SignInWorld()
    world.providers = [fakeProvider('oidc', identityOf), fakeProvider('other', identityOf)]
    world.configure({ uiSettings: {} })
    const page = await attack(world, world.browser())
    expect(page.status).toBe(400)
    expect(page.text).toContain('This sign-in has ended or was used already. Start again')
    expect(world.reports.at(-1)).toMatchObject({ outcome: 'refused', reason: 'attempt_unknown' })
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
    expect(world.cluster.all('User')).toEqual([])
  })

  it('is good for ten minutes (25.3)', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    const { state } = await begin(browser)
    await world.clock.advance(599_000)
    expect((await callback(browser, state)).text).toContain('Signed in as ada')
  })

  it('is taken once, also at another replica and by a cookie that came back (25.3, SA)', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    const { state } = await begin(browser)
    const value = browser.jar.value(LOGIN, attemptCookie(state))
    await callback(browser, state)
    browser.jar.store([`${attemptCookie(state)}=${value}; Secure; Path=/; HttpOnly`], LOGIN)
    const again = await callback(browser, state)
    expect(again.status).toBe(400)
    expect(world.reports.at(-1)).toMatchObject({ reason: 'replayed' })
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(1)
  })

  it('makes one key where two callbacks come at once (25.3, SA)', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    const { state } = await begin(browser)
    const pages = await Promise.all([callback(browser, state), callback(browser, state)])
    expect(pages.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(1)
  })

  it('is one of five that a browser keeps: the oldest goes (25.3)', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    const states: string[] = []
    for (let count = 0; count < 7; count += 1) {
      states.push((await begin(browser)).state)
      await world.clock.advance(1000)
    }
    expect([...browser.jar.names(LOGIN)].toSorted()).toEqual(
      states.slice(2).map(attemptCookie).toSorted(),
    )
    expect((await callback(browser, states[2] ?? '')).text).toContain('Signed in')
  })

  it('has a state and a nonce of 256 bits, new each time (25.3)', async () => {
    const browser = new SignInWorld().browser()
    const attempts = [await begin(browser), await begin(browser)]
    const texts = attempts.flatMap(({ state, nonce }) => [state, nonce])
    expect(new Set(texts).size).toBe(4)
    for (const text of texts) expect(Buffer.from(text, 'base64url')).toHaveLength(32)
  })

  it('is judged by the settings at the time of the callback (25.8)', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    const [one, two] = [await begin(browser), await begin(browser)]
    world.configure({ auth: { disableUserCreation: true } })
    expect((await callback(browser, one.state)).status).toBe(403)
    expect(world.reports.at(-1)).toMatchObject({ reason: 'user_unknown' })
    world.providers = []
    world.configure({ auth: { disableUserCreation: false } })
    expect((await callback(browser, two.state)).status).toBe(404)
  })

  it('keeps its cookie where no place is free, so that the person can try again (25.5, SG)', async () => {
    const world = new SignInWorld()
    const { promise: slow, resolve: release } = Promise.withResolvers<undefined>()
    let people = 0
    const next = () => {
      people += 1
      return identityOf({ subject: `${PROVIDER}#${people}`, username: `user-${people}` })
    }
    world.providers = [
      { ...fakeProvider('oidc', identityOf), finish: () => slow.then(next) },
      fakeProvider('other', () => identityOf({ username: 'grace' })),
    ]
    world.configure({ uiSettings: {} })
    const waiting: Promise<ShownPage>[] = []
    for (let count = 0; count < 20; count += 1) {
      const browser = world.browser()
      waiting.push(callback(browser, (await begin(browser)).state))
    }
    const late = world.browser()
    const { state } = await begin(late)
    const refusal = await callback(late, state)
    expect(refusal.status).toBe(429)
    expect(refusal.headers['retry-after']).toBe('5')
    expect(late.jar.names(LOGIN)).toContain(attemptCookie(state))
    const other = world.browser()
    const attempt = await begin(other, 'other')
    expect((await callback(other, attempt.state, { id: 'other' })).status).toBe(200)
    release(undefined)
    await Promise.all(waiting)
    expect((await callback(late, state)).text).toContain('Signed in as user-21')
  })

  it('begins at most 20 times at once where discovery hangs, so that others get through (25.5, SG)', async () => {
    const world = new SignInWorld()
    const { promise: slow, resolve: release } = Promise.withResolvers<undefined>()
    const provider = fakeProvider('oidc', identityOf)
    world.providers = [
      { ...provider, begin: (...given) => slow.then(() => provider.begin(...given)) },
      fakeProvider('other', identityOf),
    ]
    world.configure({ uiSettings: {} })
    const login = `${PLATFORM}/auth/oidc/login`
    const waiting = Array.from({ length: 20 }, () => world.browser().navigate(login))
    const refusal = await world.browser().navigate(login)
    expect(refusal.status).toBe(429)
    expect(refusal.headers['retry-after']).toBe('5')
    expect(world.reports.at(-1)).toMatchObject({ outcome: 'refused', reason: 'limited' })
    expect((await begin(world.browser(), 'other')).state).not.toBe('')
    release(undefined)
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(
      Array.from({ length: 20 }, () => 303),
    )
    expect((await begin(world.browser())).state).not.toBe('')
  })

  it('is refused where one account signs in more than 20 times in ten minutes, and others go on (25.5, SG)', async () => {
    const world = new SignInWorld()
    const signIn = async () => {
      const browser = world.browser()
      return callback(browser, (await begin(browser)).state)
    }
    for (let count = 0; count < 20; count += 1) expect((await signIn()).status).toBe(200)
    await world.clock.advance(60_000)
    const refusal = await signIn()
    expect(refusal.status).toBe(429)
    expect(refusal.headers['retry-after']).toBe('540')
    expect(world.reports.at(-1)).toMatchObject({ outcome: 'refused', reason: 'limited' })
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(20)
    world.identity = identityOf({ subject: `${PROVIDER}#2`, username: 'grace' })
    expect((await signIn()).text).toContain('Signed in as grace')
    world.identity = identityOf()
    await world.clock.advance(540_000)
    expect((await signIn()).text).toContain('Signed in as ada')
  })

  it('is of one state alone, also where another has a cookie of the same name (25.3, SA)', () => {
    const [state, other] = ['state-55419', 'state-109004']
    expect(attemptCookie(state)).toBe(attemptCookie(other))
    const secrets = { state, nonce: 'n', verifier: 'v' }
    const attempt = { provider: 'oidc', secrets, next: null, terminal: null, begunMs: 0 }
    const keys = sealingKeys()
    const value = sealAttempt(attempt, keys, (bytes) => Buffer.alloc(bytes))
    const cookies = new Map([[attemptCookie(state), value]])
    expect(attemptOf(cookies, { provider: 'oidc', state }, keys, 1)).toEqual(attempt)
    expect(attemptOf(cookies, { provider: 'oidc', state: other }, keys, 1)).toBeNull()
  })
})
