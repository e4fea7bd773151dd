// Signing in with Chromium, for one test file: the platform, a company's provider, and windows whose complaints fail the test.
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, expect, onTestFinished } from 'vitest'
import { startChromium } from '../../support/browser/chromium.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { SOON } from '../gateway/test-gateway.ts'
import { type SignInWorld, startSignInWorld } from './sign-in-world.ts'
import { startIdentityProvider } from '../../support/oidc/identity-provider.ts'

/** Words on the provider's button, and the legal text below. */
const PROVIDER = 'Example Inc.'
const LEGAL =
  '<p>Use is recorded. <a href="https://example.com/terms">Terms of use</a>.</p><script>alert(1)</script>'

/** Signing in with Chromium. */
export interface ChromiumWorld {
  readonly world: SignInWorld
  /** Where the provider is. */
  readonly issuer: string
  /** Opens a window, which is closed after the test. A complaint of a page of the platform fails the test. */
  readonly open: (options?: BrowserContextOptions) => Promise<Page>
}

/** Starts it; it is stopped after the file's last test. @param program as ensureChromium found it; empty = the tests are skipped */
export async function startChromiumWorld(
  plane: TestControlPlane,
  program: string,
): Promise<ChromiumWorld> {
  const world = await startSignInWorld(plane)
  const issuer = await startProvider(world.url)
  await world.settings.secret(JSON.stringify({ auth: { oidc: { clientSecret: CLIENT_SECRET } } }))
  await world.settings.declare({
    platformHost: 'platform.example.com',
    auth: { oidc: settingsOfProvider(issuer, world.url) },
    uiSettings: { legalTemplate: LEGAL },
    oidc: { enabled: true },
  })
  const isOffered = async (): Promise<void> =>
    expect((await world.browser().navigate(`${world.url}/login`)).text).toContain(PROVIDER)
  await eventuallyPasses('the provider is offered', isOffered, SOON)
  // Browsers treat a platform in the Internet and one on loopback differently, where a page leads to loopback.
  const flags = [`--ip-address-space-overrides=${new URL(world.url).host}=public`]
  const chromium = program === '' ? null : await startChromium({ program, flags })
  afterAll(() => chromium?.close())
  return {
    world,
    issuer,
    open: async (options) => {
      if (chromium === null) throw new Error('there is no Chromium')
      const { page, complaints, close } = await chromium.open(options)
      onTestFinished(async () => {
        await close()
        const ours = complaints.filter(({ at }) => at.startsWith(world.url))
        expect(ours.filter(({ text }) => !REFUSAL.test(text))).toEqual([])
      })
      return page
    },
  }
}

/** What Chromium writes of every page with such a code. */
const REFUSAL = /^Failed to load resource: the server responded with a status of 40[0-9] /

const CLIENT_SECRET = 'a client secret of the tests'

const settingsOfProvider = (issuerUrl: string, url: string) => ({
  issuerUrl,
  clientId: 'platform',
  type: PROVIDER,
  scopes: ['email', 'profile', 'groups'],
  postLogoutRedirectURI: `${url}/login`,
})

async function startProvider(url: string): Promise<string> {
  const client = {
    client_id: 'platform',
    client_secret: CLIENT_SECRET,
    redirect_uris: [`${url}/auth/oidc/callback`],
    post_logout_redirect_uris: [`${url}/login`],
  }
  return startIdentityProvider([client], { stopAfter: afterAll, host: 'localhost' })
}

/** Signs in at the provider as Ada. */
export async function signInAtProvider(page: Page): Promise<void> {
  await page.getByRole('link', { name: `Sign in with ${PROVIDER}` }).click()
  await page.getByRole('button', { name: 'Ada Lovelace' }).click()
}

/** Fills the form in, and presses its button. */
export async function signInByPassword(
  page: Page,
  username: string,
  password: string,
): Promise<void> {
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Waits until the page has this heading. */
export const headingIs = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
