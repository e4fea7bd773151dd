import { describe, expect, it } from 'vitest'
import { FORM, signedIn } from '../../../support/signin/requests.ts'
import { PASSWORD, PLATFORM, PROVIDER, SignInWorld } from '../../../support/signin/world.ts'

describe('a browser that works without JavaScript (25.2)', () => {
  it('signs in by the form of the page and signs out, at the provider as well', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    const begun = await browser.navigate(`${PLATFORM}/auth/oidc/login`)
    const state = new URL(String(begun.headers['location'])).searchParams.get('state')
    const person = await browser.navigate(
      `${PLATFORM}/auth/oidc/callback?code=right&state=${state}`,
      { from: PROVIDER },
    )
    expect(person.text).toContain('Until 2026-11-21T13:00:00Z')
    const out = await browser.submit(person, '/auth/logout')
    expect(String(out.headers['location'])).toMatch(
      /^https:\/\/provider.example\/end\?hint=an-id-token/,
    )
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
    expect((await browser.navigate(`${PLATFORM}/login`)).text).not.toContain('Signed in as')
  })

  it('comes to the page that it wanted', async () => {
    const world = new SignInWorld()
    world.userWithPassword('ada')
    const browser = world.browser()
    const login = await browser.navigate(`${PLATFORM}/login?next=/oidc/apps/authorize?a=b`)
    const page = await browser.submit(login, '/auth/password/login', {
      username: 'ada',
      password: PASSWORD,
    })
    expect(page.url.href).toBe(`${PLATFORM}/oidc/apps/authorize?a=b`)
  })

  it('is known for the person who has signed in with it, for 90 days, and for no other (25.5)', async () => {
    const world = new SignInWorld()
    world.userWithPassword('linus')
    const browser = await signedIn(world)
    const tryAs = async (username: string): Promise<void> => {
      const asked = { username, password: 'another' }
      const headers = { origin: PLATFORM, 'content-type': FORM }
      const url = new URL('/auth/password/login', PLATFORM)
      const cookie = browser.jar.header({ method: 'POST', url, initiator: PLATFORM }) ?? ''
      const body = new URLSearchParams(asked).toString()
      await world.send({ method: 'POST', url, headers: { ...headers, cookie }, body })
    }
    await tryAs('ada')
    await tryAs('linus')
    await world.clock.advance(90 * 86_400_000 - 1)
    await tryAs('ada')
    await world.clock.advance(1)
    await tryAs('ada')
    expect(world.passwordAttempts).toEqual([
      { username: 'ada', isKnown: false },
      { username: 'ada', isKnown: true },
      { username: 'linus', isKnown: false },
      { username: 'ada', isKnown: true },
      { username: 'ada', isKnown: false },
    ])
  })

  it('keeps its cookie where the key cannot be ended now', async () => {
    const world = new SignInWorld()
    const browser = await signedIn(world)
    world.cluster.before = ({ verb }) => {
      if (verb === 'delete') throw new Error('away')
    }
    const person = await browser.navigate(`${PLATFORM}/login`)
    expect((await browser.submit(person, '/auth/logout')).status).toBe(503)
    world.cluster.before = () => undefined
    await browser.submit(person, '/auth/logout')
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('has no session any more where the gateway takes its key no longer (25.4)', async () => {
    const world = new SignInWorld()
    const browser = await signedIn(world)
    for (const { metadata } of world.cluster.all('OwnedAccessKey'))
      world.cluster.remove('OwnedAccessKey', metadata.name)
    expect((await browser.navigate(`${PLATFORM}/login`)).text).not.toContain('Signed in as')
  })
})
