// What browsers decide about cookies, the header Origin and forms, as a table of journeys through two sites. The answers of
// Chromium are in chromium-answers.json, and the browser of the tests gives the same.
import type { BrowserAnswer } from './browser.ts'

/** Takes cookies, shows a page, and goes to `/end` of the platform. */
export interface Journey {
  readonly name: string
  /** Values of `Set-Cookie` of the platform, each in an answer of its own. */
  readonly cookies: readonly string[]
  /** Where the page is that leads on; null = the person types the address. */
  readonly from: Place | null
  readonly method: 'GET' | 'POST'
  /** Headers of the page. */
  readonly headers: Readonly<Record<string, string>>
  /** Policy of its `<meta name="referrer">`; null = it has none. */
  readonly meta: string | null
  /** A redirect between page and end; null = there is none. */
  readonly redirect: { readonly at: Place; readonly status: 303 | 307 } | null
}

/** What arrived at the end. */
export interface Arrival {
  /** In the order of the header. */
  readonly cookies: readonly string[]
  /** Header `Origin`. */
  readonly origin: string | null
  /** Names of the cookies that scripts of the end read, sorted. */
  readonly readable: readonly string[]
}

/** The platform itself, another host of its site, and another site. */
const PLACES = {
  platform: 'https://platform.example',
  sibling: 'https://other.platform.example',
  stranger: 'https://stranger.example',
} as const
type Place = keyof typeof PLACES

const PLATFORM = PLACES.platform
/** Cookies of a journey are set here, one after the other. */
export const settingAddress = (at: number): string => `${PLATFORM}/deep/set?at=${at}`
/** Where the page is. */
export const pageAddress = ({ from }: Journey): string => `${PLACES[from ?? 'platform']}/page`
/** Where every journey ends. */
export const END = `${PLATFORM}/end`

const DIRECT: Omit<Journey, 'name'> = {
  cookies: [],
  from: null,
  method: 'GET',
  headers: {},
  meta: null,
  redirect: null,
}
const HOST = '__Host-a=1; Secure; Path=/'

const SET: readonly (readonly string[])[] = [
  [HOST],
  [`${HOST}; HttpOnly`, 'b=2; Secure; Path=/'],
  ['__Host-a=1; Path=/'],
  ['__Host-a=1; Secure; Path=/end'],
  ['__Host-a=1; Secure'],
  [`${HOST}; Domain=platform.example`],
  ['__Secure-a=1; Path=/'],
  ['a=1; Path=/; SameSite=None'],
  ['a=1; Path=/; Max-Age=60'],
  [HOST, '__Host-a=2; Secure; Path=/; Max-Age=0'],
  [HOST, '__Host-a=2; Secure; Path=/'],
  ['a=1; Path=/; Max-Age=-1'],
  ['a=1'],
  ['a=1; Path=/deep'],
  ['a=1; Path=/en'],
  ['a=1; Path=/end'],
  ['a=1; Path=relative'],
  ['a=1; Path=/', 'b=2; Path=/end', 'c=3; Path=/'],
  ['A=1; Path=/', 'a=2; Path=/'],
]

const SITES = ['Lax', 'None', 'Strict', null] as const
const POLICIES = ['no-referrer', 'same-origin', 'origin', 'strict-origin', 'unsafe-url'] as const
const FROM: readonly Place[] = ['platform', 'sibling', 'stranger']

const cookieOf = (sameSite: (typeof SITES)[number]): string =>
  sameSite === null ? HOST : `${HOST}; SameSite=${sameSite}`

/** All journeys. */
export const JOURNEYS: readonly Journey[] = [
  ...SET.map((cookies) => ({ ...DIRECT, name: `sets ${cookies.join(' and ')}`, cookies })),
  ...[4095, 4096].map((length) => ({
    ...DIRECT,
    name: `sets a value of ${length} bytes`,
    cookies: [`a=${'1'.repeat(length)}; Path=/`],
  })),
  ...SITES.flatMap((sameSite) =>
    FROM.flatMap((from) =>
      (['GET', 'POST'] as const).map((method) => ({
        ...DIRECT,
        name: `SameSite ${sameSite ?? 'absent'}, ${method} from the ${from}`,
        cookies: [cookieOf(sameSite)],
        from,
        method,
      })),
    ),
  ),
  ...POLICIES.flatMap((policy) =>
    FROM.flatMap((from) => [
      {
        ...posted(from),
        name: `Referrer-Policy ${policy}, from the ${from}`,
        headers: referrer(policy),
      },
      {
        ...posted(from),
        name: `Referrer-Policy no-referrer and meta ${policy}, from the ${from}`,
        headers: referrer('no-referrer'),
        meta: policy,
      },
    ]),
  ),
  ...FROM.flatMap((at) =>
    ([303, 307] as const).flatMap((status) =>
      (['platform', 'stranger'] as const).map((from) => ({
        ...posted(from),
        name: `a ${status} of the ${at} to a form of the ${from}`,
        cookies: SITES.map(
          (site) => `__Host-${site}=1; Secure; Path=/${site === null ? '' : `; SameSite=${site}`}`,
        ),
        redirect: { at, status },
      })),
    ),
  ),
  ...["'self'", PLATFORM, `'self' ${PLACES.stranger}`, PLACES.stranger, "'none'"].flatMap(
    (sources) => [
      {
        ...posted('platform'),
        name: `form-action ${sources}`,
        headers: formAction(sources),
      },
      {
        ...posted('stranger'),
        name: `form-action ${sources} of a stranger`,
        headers: formAction(sources),
      },
      {
        ...posted('platform'),
        name: `form-action ${sources} and a redirect by a stranger`,
        headers: formAction(sources),
        redirect: { at: 'stranger', status: 303 },
      } as const,
    ],
  ),
]

function posted(from: Place): Omit<Journey, 'name'> {
  return { ...DIRECT, from, method: 'POST' }
}

function referrer(policy: string): Journey['headers'] {
  return { 'referrer-policy': policy }
}

function formAction(sources: string): Journey['headers'] {
  return { 'content-security-policy': `form-action ${sources}` }
}

/** What both sites answer on a journey. */
export function answerOn(journey: Journey, url: URL): BrowserAnswer {
  if (url.pathname === '/deep/set') {
    const cookie = journey.cookies[Number(url.searchParams.get('at'))] ?? ''
    return shown('', { 'set-cookie': cookie })
  }
  if (url.pathname === '/redirect')
    return { status: journey.redirect?.status ?? 404, headers: { location: END }, body: '' }
  return url.pathname === '/page' ? shown(pageOf(journey), journey.headers) : shown('', {})
}

function pageOf({ method, meta, redirect }: Journey): string {
  const target = redirect === null ? END : `${PLACES[redirect.at]}/redirect`
  const head = meta === null ? '' : `<meta name="referrer" content="${meta}">`
  const way =
    method === 'GET'
      ? `<a href="${target}">go</a>`
      : `<form method="post" action="${target}"><button>go</button></form>`
  return `<!doctype html><head>${head}</head><body>${way}</body>`
}

const shown = (body: string, headers: BrowserAnswer['headers']): BrowserAnswer => ({
  status: 200,
  headers: { 'content-type': 'text/html', ...headers },
  body,
})
