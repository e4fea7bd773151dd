// Requests to a process of signing in, and the ways of a browser that several tests go.
import type { Browser, BrowserAnswer, ShownPage } from '../browser/browser.ts'
import { fakeProvider, PASSWORD, PLATFORM, PROVIDER, type SignInWorld } from './world.ts'

export const FORM = 'application/x-www-form-urlencoded'
export const JSON_TYPE = 'application/json'

/** A request: by default a POST from the platform's own page. */
interface Asked {
  readonly method?: string
  readonly path: string
  readonly origin?: string | null
  readonly cookie?: string
  readonly type?: string
  readonly accept?: string
  readonly body?: string | Buffer
}

/** Asks, also what no browser would. */
export const ask = (world: SignInWorld, asked: Asked): Promise<BrowserAnswer> => {
  const { method = 'POST', path, origin = PLATFORM, cookie, type, accept, body = '' } = asked
  return world.sendRaw({
    method,
    url: {
      pathname: path.split('?')[0],
      search: path.includes('?') ? path.slice(path.indexOf('?')) : '',
    } as URL,
    headers: {
      ...(origin === null ? {} : { origin }),
      ...(cookie === undefined ? {} : { cookie }),
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(accept === undefined ? {} : { accept }),
    },
    body,
  })
}

/** A browser in which ada has signed in with a password. */
export async function signedIn(world: SignInWorld): Promise<Browser> {
  world.userWithPassword('ada')
  const browser = world.browser()
  const login = await browser.navigate(`${PLATFORM}/login`)
  await browser.submit(login, '/auth/password/login', { username: 'ada', password: PASSWORD })
  return browser
}

/** A browser goes to the provider and comes back. */
export async function comeBack(
  world: SignInWorld,
  query = 'code=right',
  browser = world.browser(),
): Promise<ShownPage> {
  world.providers = [fakeProvider('oidc', () => world.identity)]
  const begun = await browser.navigate(`${PLATFORM}/auth/oidc/login`)
  const state = new URL(String(begun.headers['location'])).searchParams.get('state')
  return browser.navigate(`${PLATFORM}/auth/oidc/callback?${query}&state=${state}`, {
    from: PROVIDER,
  })
}
