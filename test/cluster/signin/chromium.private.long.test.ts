// Signing in with Chromium on a real control plane: by keyboard, at a provider, for a terminal, without JavaScript, in the dark and
// on a phone (contract 25.2 to 25.5).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page, Request } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { APP_CLIENT_LABEL } from '../../../src/api/names.ts'
import { ensureChromium } from '../../../tools/chromium/program.ts'
import { serverPair } from '../../support/certificate-builder.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { faultsOfLooks } from '../../support/browser/page-looks.ts'
import { pictureDifference } from '../../support/browser/pictures.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { serveOnLoopback } from '../../support/loopback-server.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { request as requestOfApp } from '../../support/signin/app.ts'
import { startSamlProvider } from '../../support/saml/identity-provider.ts'
import { SOON } from '../gateway/test-gateway.ts'
import {
  headingIs,
  signInAtProvider,
  signInByPassword,
  startChromiumWorld,
} from './chromium-world.ts'
import { SIGN_IN_NAMESPACE } from './sign-in-world.ts'
import { startTool } from './command-line.ts'

const program = await programOrSkip(ensureChromium)
const { world, issuer, open } = await startChromiumWorld(await privateControlPlane(), program)
const { url, setup } = world
const PASSWORD = 'correct horse battery'
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

const OUTLINE = 'getComputedStyle(document.activeElement).outlineStyle'

/** The next request of the window to an address with these words, with its headers as they are sent. */
async function nextRequest(page: Page, words: string): Promise<Readonly<Record<string, string>>> {
  const sent: Request = await page.waitForRequest((request) => request.url().includes(words))
  return sent.allHeaders()
}

test('a password works by keyboard alone, each step with a visible focus; so does signing out (25.2)', async () => {
  await world.createUser('kim', {}, PASSWORD)
  const page = await open()
  const press = (key: string): Promise<void> => page.keyboard.press(key)
  const focused = page.locator(':focus')
  await page.goto(`${url}/login`)
  const [order, outlines]: [string[], string[]] = [[], []]
  for (let presses = 0; presses < 4; presses += 1) {
    await press('Tab')
    order.push((await focused.getAttribute('name')) ?? (await focused.innerText()))
    outlines.push(await page.evaluate<string>(OUTLINE))
    if (order.at(-1) === 'username') await page.keyboard.type('kim')
    if (order.at(-1) === 'password') await page.keyboard.type(PASSWORD)
  }
  expect(order).toEqual(['Sign in with Example Inc.', 'username', 'password', 'Sign in'])
  expect(outlines).toEqual(['solid', 'solid', 'solid', 'solid'])
  const posted = nextRequest(page, '/auth/password/login')
  await press('Enter')
  expect(await posted).toMatchObject({ origin: url, 'sec-fetch-site': 'same-origin' })
  await headingIs(page, 'Signed in as kim')
  await press('Tab')
  const out = nextRequest(page, '/auth/logout')
  await press('Enter')
  expect(await out).toMatchObject({ origin: url })
  await headingIs(page, 'Sign in')
})

test('cookies are for the platform alone, and no script reads them (25.3, 25.4)', async () => {
  await world.createUser('lee', {}, PASSWORD)
  const page = await open()
  await page.goto(`${url}/login`)
  await page.getByRole('link', { name: 'Sign in with' }).click()
  await page.goto(`${url}/login`)
  await signInByPassword(page, 'lee', PASSWORD)
  await headingIs(page, 'Signed in as lee')
  const cookies = await page.context().cookies(url)
  const names = cookies.map(({ name }) => name.replace(/_[0-9a-f]{8}$/, '_<state>')).toSorted()
  expect(names).toEqual([
    '__Host-platform_attempt_<state>',
    '__Host-platform_known',
    '__Host-platform_session',
  ])
  const rules = { httpOnly: true, secure: true, sameSite: 'Lax', path: '/' }
  for (const cookie of cookies) expect(cookie).toMatchObject(rules)
  expect(await page.evaluate('document.cookie')).toBe('')
})

test('a provider gets no referrer, and brings the person back; signing out ends its session too (25.2, 25.6)', async () => {
  const page = await open()
  await page.goto(`${url}/login`)
  const asked = nextRequest(page, `${issuer}/auth`)
  await signInAtProvider(page)
  expect(await asked).not.toHaveProperty('referer')
  await headingIs(page, 'Signed in as ada')
  expect(page.url()).toBe(`${url}/login`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(`${issuer}/session/end?**`)
  await page.getByRole('button', { name: 'Yes, sign me out' }).click()
  await page.waitForURL(`${url}/login`)
  await headingIs(page, 'Sign in')
  await page.getByRole('link', { name: 'Sign in with' }).click()
  await page.getByRole('button', { name: 'Ada Lovelace' }).waitFor()
})

test('a refusal says what to do, leads back, and looks like the other pages (25.5)', async () => {
  const page = await open({ colorScheme: 'dark' })
  await page.goto(`${url}/login`)
  await signInByPassword(page, 'kim', 'not the password')
  await headingIs(page, 'Not signed in')
  expect(await page.getByRole('alert').innerText()).toMatch(
    /^The user name or the password is wrong \(reference [0-9a-f-]{36}\)$/,
  )
  expect(await faultsOfLooks(page)).toEqual([])
  await page.getByRole('link', { name: 'Start again' }).click()
  await headingIs(page, 'Sign in')
})

/** An app of two addresses: the one that gets the code leads to the other, as a proxy of many apps does. */
function appAnswer(asked: IncomingMessage, response: ServerResponse): void {
  const { host = '' } = asked.headers
  if (asked.url?.startsWith('/cb?code=')) {
    const location = `https://${host.replace('localhost', '127.0.0.1')}/home`
    response.writeHead(303, { location }).end()
    return
  }
  response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>The app</h1>')
}

/** Starts `login`. @returns it, and the address that it opens in a browser */
async function startLogin(...flags: readonly string[]) {
  const home = mkdtempSync(join(tmpdir(), 'person-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const caFile = join(home, 'ca.crt')
  writeFileSync(caFile, setup.ca)
  const args = ['login', `--url=${url}`, `--ca-file=${caFile}`, ...flags]
  const login = startTool(home, args, { BROWSER: 'true' })
  const address = await login.says(/(https:\S+\/login\?\S+)/)
  return { login, address, checkCode: await login.says(/check code (\S+?)\.?\s/) }
}

const SIGNED_IN = { code: 0, stdout: expect.stringContaining('as ada') as unknown }

test("a page of the Internet hands over to the terminal's port, only when the person presses the button (25.2, SH)", async () => {
  const { login, address, checkCode } = await startLogin()
  const page = await open()
  await page.goto(address)
  await page.getByText(checkCode).waitFor()
  await signInAtProvider(page)
  await headingIs(page, 'Sign in as ada on a terminal')
  await page.getByText(checkCode).waitFor()
  expect(await faultsOfLooks(page)).toEqual([])
  const posted = nextRequest(page, '/callback')
  await page.getByRole('button', { name: 'Continue' }).click()
  expect(await posted).toMatchObject({ origin: 'null' })
  expect(await login.ended).toMatchObject(SIGNED_IN)
  expect(await page.locator('body').innerText()).toContain('terminal')
})

test('a terminal elsewhere takes the code that the page shows (25.2)', async () => {
  const { login, address } = await startLogin('--no-browser')
  const page = await open(PHONE)
  await page.goto(address)
  await signInAtProvider(page)
  await headingIs(page, 'Sign in as ada on a terminal')
  expect(await faultsOfLooks(page)).toEqual([])
  login.type(await page.locator('.code').innerText())
  expect(await login.ended).toMatchObject(SIGNED_IN)
})

test('everything works without JavaScript (25.2)', async () => {
  const page = await open({ javaScriptEnabled: false })
  await page.goto(`${url}/login`)
  await signInAtProvider(page)
  await headingIs(page, 'Signed in as ada')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Yes, sign me out' }).click()
  await headingIs(page, 'Sign in')
  await world.createUser('max', {}, PASSWORD)
  await signInByPassword(page, 'max', PASSWORD)
  await headingIs(page, 'Signed in as max')
  expect(page.url()).toBe(`${url}/login`)
})

/** No browser breaks it by itself. */
const LONG_NAME = 'along'.repeat(48)

// A user of its own for each: a name has three attempts a minute.
test.each([
  { on: 'a desktop, in the light', user: `${LONG_NAME}a`, options: {} },
  { on: 'a desktop, in the dark', user: `${LONG_NAME}b`, options: { colorScheme: 'dark' } },
  { on: 'a phone, in the light', user: `${LONG_NAME}c`, options: PHONE },
  { on: 'a phone, in the dark', user: `${LONG_NAME}d`, options: { ...PHONE, colorScheme: 'dark' } },
  {
    on: 'a small phone',
    user: `${LONG_NAME}e`,
    options: { ...PHONE, viewport: { width: 320, height: 568 } },
  },
] as const)('pages fit, can be tapped and can be read on $on (25.2)', async ({ user, options }) => {
  await world.createUser(user, {}, PASSWORD)
  const page = await open(options)
  await page.goto(`${url}/login`)
  await headingIs(page, 'Sign in')
  expect(await faultsOfLooks(page)).toEqual([])
  await signInByPassword(page, user, PASSWORD)
  await headingIs(page, `Signed in as ${user}`)
  expect(await faultsOfLooks(page)).toEqual([])
})

/** Share of pixels; another word in a line is more. */
const MOST_DIFFERENT = 0.005

test('pictures of the documentation show the pages as they are (25.2)', async () => {
  const desktop = await open({ viewport: { width: 640, height: 620 } })
  await desktop.goto(`${url}/login`)
  expect(await pictureDifference(desktop, 'sign-in/login.png')).toBeLessThan(MOST_DIFFERENT)
  const phone = await open({ ...PHONE, colorScheme: 'dark' })
  await phone.goto(`${url}/login`)
  expect(await pictureDifference(phone, 'sign-in/login-phone.png')).toBeLessThan(MOST_DIFFERENT)
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
  await desktop.goto(`${url}/login?cli=true&port=49152&state=s&code_challenge=${challenge}`)
  await signInAtProvider(desktop)
  await headingIs(desktop, 'Sign in as ada on a terminal')
  // Each code is another one.
  await desktop.evaluate(
    `document.querySelector('.code').textContent = '${'k7Qp-x2Vn_'.repeat(24)}'`,
  )
  expect(await pictureDifference(desktop, 'sign-in/hand-over.png')).toBeLessThan(MOST_DIFFERENT)
})

test('an app gets the person from the form of the platform, and leads on to an address of its own (26.3)', async () => {
  const { port } = await serveOnLoopback(appAnswer, onTestFinished, serverPair('app'))
  const redirectURIs = `https://localhost:${port}/cb`
  const app = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'app', namespace: SIGN_IN_NAMESPACE, labels: { [APP_CLIENT_LABEL]: '' } },
    stringData: { clientId: 'app', clientSecret: 'a secret', redirectURIs },
  }
  await mustKubectl(setup.plane, ['create', '-f', '-'], { input: JSON.stringify(app) })
  await world.createUser('noa', {}, PASSWORD)
  const asked = requestOfApp({ client_id: 'app', redirect_uri: redirectURIs })
  const start = `${url}/oidc/apps/authorize?${new URLSearchParams(asked).toString()}`
  const page = await open()
  await eventuallyPasses(
    'the app is known',
    async () => {
      await page.goto(start)
      await headingIs(page, 'Sign in')
    },
    SOON,
  )
  await signInByPassword(page, 'noa', PASSWORD)
  await headingIs(page, 'The app')
  expect(page.url()).toBe(`https://127.0.0.1:${port}/home`)
  // With a session no page comes between.
  await page.goto(start)
  await headingIs(page, 'The app')
})

test('a SAML provider of another site is asked and answers by forms, also after it has asked elsewhere (25.3, 25.6)', async () => {
  const saml = await startSamlProvider(onTestFinished, serverPair('idp'))
  // The last test: from here on the platform has this provider alone.
  await world.settings.secret('{}')
  await world.settings.declare({
    platformHost: 'platform.example.com',
    auth: { saml: saml.settings },
  })
  saml.person = 'sam'
  for (const asksElsewhere of [false, true]) {
    saml.asksElsewhere = asksElsewhere
    const page = await open()
    await eventuallyPasses(
      'the provider is offered',
      async () => {
        await page.goto(`${url}/login`)
        expect(await page.getByRole('link', { name: 'Sign in with SAML' }).count()).toBe(1)
      },
      SOON,
    )
    await page.getByRole('link', { name: 'Sign in with SAML' }).click()
    const cookie = (await page.context().cookies()).find(({ name }) => name.includes('_attempt_'))
    expect(cookie).toMatchObject({ sameSite: 'None', secure: true, httpOnly: true })
    await page.getByRole('button', { name: 'Continue' }).click()
    const posted = nextRequest(page, '/auth/saml/callback')
    await page.getByRole('button', { name: 'Go on as sam' }).click()
    // The other origin is at the platform's own site.
    const site = asksElsewhere ? 'same-site' : 'cross-site'
    expect(await posted).toMatchObject({ 'sec-fetch-site': site })
    await headingIs(page, 'Signed in as sam')
    const names = (await page.context().cookies()).map(({ name }) => name)
    expect(names).toContain('__Host-platform_session')
    expect(names.filter((name) => name.includes('_attempt_'))).toEqual([])
  }
})
