// A sign-in by SAML through the routes: the page that posts, and the Response that comes back (contract 25.2, 25.3, 25.6 "saml").
import { describe, expect, it } from 'vitest'
import type { Browser, ShownPage } from '../../../support/browser/browser.ts'
import { CALLBACK, REQUEST_ID } from '../../../support/saml/forger.ts'
import { forged, samlProvider } from '../../../support/saml/sign-in.ts'
import { PLATFORM, SignInWorld } from '../../../support/signin/world.ts'

const IDP = 'https://idp.example.com'

function samlWorld(): SignInWorld {
  const world = new SignInWorld()
  const [publicUrl, usernameAttr] = [PLATFORM, 'uid']
  world.providers = [
    samlProvider({ usernameAttr }, { publicUrl }),
    samlProvider({ usernameAttr, redirectURI: CALLBACK }, { publicUrl, id: 'staff' }),
  ]
  world.configure({ auth: { password: { disabled: true } } })
  return world
}

/** The form of a request, and the Response that answers it. */
async function answered(browser: Browser): Promise<Readonly<Record<string, string>>> {
  const page = await browser.navigate(`${PLATFORM}/auth/saml/login`)
  const { SAMLRequest = '', RelayState = '' } = page.forms[0]?.fields ?? {}
  expect(page.forms[0]?.action.href).toBe(`${IDP}/sso`)
  const [, id = ''] = / ID="([^"]+)"/.exec(Buffer.from(SAMLRequest, 'base64').toString()) ?? []
  const xml = forged({
    changes: [
      [new RegExp(REQUEST_ID), id],
      [new RegExp(REQUEST_ID), id],
      ...[1, 2, 3].map(() => [CALLBACK, `${PLATFORM}/auth/saml/callback`] as const),
    ],
  })
  return { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState }
}

const post = (
  browser: Browser,
  fields: Readonly<Record<string, string>>,
  id = 'saml',
): Promise<ShownPage> => browser.forge(`${PLATFORM}/auth/${id}/callback`, fields, { from: IDP })

describe('a sign-in by SAML', () => {
  it('signs the person in who has a Response to the request of this browser (25.6)', async () => {
    const browser = samlWorld().browser()
    expect((await post(browser, await answered(browser))).text).toContain('Signed in as ada')
  })

  it('works once (25.3, SA, SI)', async () => {
    const browser = samlWorld().browser()
    const fields = await answered(browser)
    await post(browser, fields)
    expect(await post(browser, fields)).toMatchObject({ status: 400 })
  })

  it('is refused in another browser, and at another connector (25.3, SA, SI)', async () => {
    const world = samlWorld()
    const browser = world.browser()
    const fields = await answered(browser)
    const other = world.browser()
    const { RelayState = '' } = await answered(other)
    expect(await post(other, fields)).toMatchObject({ status: 400 })
    // With an attempt of its own, the stolen Response is one to another request.
    expect(await post(other, { ...fields, RelayState })).toMatchObject({ status: 502 })
    expect(await post(browser, fields, 'staff')).toMatchObject({ status: 400 })
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('without a request of this browser is refused (25.6, SI)', async () => {
    const { SAMLResponse = '' } = await answered(samlWorld().browser())
    expect(await post(samlWorld().browser(), { SAMLResponse })).toMatchObject({ status: 400 })
  })
})
