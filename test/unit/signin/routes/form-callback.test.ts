// A provider that is asked and answers by forms of browsers (contract 25.2, 25.3, 25.6 "saml").
import { describe, expect, it } from 'vitest'
import type { Browser, ShownPage } from '../../../support/browser/browser.ts'
import { FORM, ask } from '../../../support/signin/requests.ts'
import { PLATFORM, PROVIDER, SignInWorld, fakeProvider } from '../../../support/signin/world.ts'

const CALLBACK = '/auth/saml/callback'

function formWorld(): SignInWorld {
  const world = new SignInWorld()
  world.providers = [
    fakeProvider('saml', () => world.identity, { method: 'POST', stateParameter: 'RelayState' }),
    fakeProvider('oidc', () => world.identity),
  ]
  world.configure({ auth: { password: { disabled: true } } })
  return world
}

/** The page that posts to the provider, and the state in its form. */
async function begun(
  browser: Browser,
): Promise<{ readonly page: ShownPage; readonly state: string }> {
  const page = await browser.navigate(`${PLATFORM}/auth/saml/login`)
  return { page, state: page.forms[0]?.fields['RelayState'] ?? '' }
}

const comeBack = (browser: Browser, state: string): Promise<ShownPage> =>
  browser.forge(`${PLATFORM}${CALLBACK}`, { code: 'right', RelayState: state }, { from: PROVIDER })

const fields = (count: number): string =>
  Array.from({ length: count }, (_, at) => `f${at}=`).join('&')

describe('a provider that answers by a form', () => {
  it('is asked by a form, and brings the person back from another site', async () => {
    const world = formWorld()
    const browser = world.browser()
    const { page, state } = await begun(browser)
    expect(page.forms[0]?.action.origin).toBe(PROVIDER)
    expect((await comeBack(browser, state)).text).toContain('Signed in as ada')
  })

  it('has a cookie of the attempt that goes with forms of other sites; the others stay Lax', async () => {
    const browser = formWorld().browser()
    const { page, state } = await begun(browser)
    expect(String(page.headers['set-cookie'])).toMatch(/; SameSite=None$/)
    const { headers } = await browser.navigate(`${PLATFORM}/auth/oidc/login`)
    expect(String(headers['set-cookie'])).toMatch(/; SameSite=Lax$/)
    const initiator = PROVIDER
    const url = new URL(`${PLATFORM}${CALLBACK}`)
    expect(browser.jar.header({ method: 'POST', url, initiator })?.split('; ')).toHaveLength(1)
    await comeBack(browser, state)
    expect(browser.jar.header({ method: 'POST', url, initiator })).toBeUndefined()
  })

  it('may send the browser on to other sites over TLS, and to no others', async () => {
    const { page } = await begun(formWorld().browser())
    expect(String(page.headers['content-security-policy'])).toContain(
      `form-action 'self' ${PROVIDER} https:;`,
    )
  })

  it.each([
    ['another browser', (world: SignInWorld) => world.browser()],
    [
      'a browser of another attempt',
      async (world: SignInWorld) => {
        const other = world.browser()
        await begun(other)
        return other
      },
    ],
  ])('does not sign %s in (SA)', async (_, other) => {
    const world = formWorld()
    const { state } = await begun(world.browser())
    const page = await comeBack(await other(world), state)
    expect([page.status, page.text]).toEqual([400, expect.stringContaining('Start again')])
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('works once (SA)', async () => {
    const world = formWorld()
    const browser = world.browser()
    const { state } = await begun(browser)
    const url = new URL(`${PLATFORM}${CALLBACK}`)
    const cookie = browser.jar.header({ method: 'POST', url, initiator: PROVIDER }) ?? ''
    const asked = {
      path: CALLBACK,
      type: FORM,
      body: `code=right&RelayState=${state}`,
      cookie,
      origin: PROVIDER,
    }
    expect([(await ask(world, asked)).status, (await ask(world, asked)).status]).toEqual([303, 400])
  })

  it.each([
    ['GET', undefined, '', 405, 'POST'],
    ['POST', 'application/json', '{"RelayState":"a"}', 415, null],
    ['POST', FORM, 'RelayState=a&RelayState=a', 400, null],
    ['POST', FORM, `RelayState=a&a=${'b'.repeat(262_144 - 15)}`, 400, null],
    ['POST', FORM, `RelayState=a&a=${'b'.repeat(262_144 - 14)}`, 413, null],
  ])('takes no %s of type %s', async (method, type, body, status, allow) => {
    const asked = { method, path: CALLBACK, body, origin: PROVIDER }
    const answer = await ask(formWorld(), type === undefined ? asked : { ...asked, type })
    expect(answer.status).toBe(status)
    expect(answer.headers['allow'] ?? null).toBe(allow)
  })

  it('refuses a form of many fields before it reads them (SG)', async () => {
    const world = formWorld()
    const [most, more] = await Promise.all(
      [32, 33].map((count) =>
        ask(world, { path: CALLBACK, type: FORM, origin: PROVIDER, body: fields(count) }),
      ),
    )
    expect(most?.body).toContain('Start again')
    expect(more?.body).toContain('more than 32 fields')
  })

  it('reads its state from the form, and not from the address', async () => {
    const world = formWorld()
    const browser = world.browser()
    const { state } = await begun(browser)
    const page = await browser.forge(
      `${PLATFORM}${CALLBACK}?RelayState=${state}`,
      { code: 'right' },
      { from: PROVIDER },
    )
    expect(page.status).toBe(400)
  })
})
