// A browser that keeps cookies, follows redirects and submits forms as real ones do: with SameSite, with the header Origin that
// the page's referrer policy leaves, and never past the page's form-action.
import { CookieJar } from './cookie-jar.ts'
import { type ReadPage, readPage } from './page.ts'

/** A request of the browser. */
export interface BrowserRequest {
  readonly method: string
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty = none. */
  readonly body: string
}

/** An answer to the browser. */
export interface BrowserAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
}

/** An answer that is shown, with the address where redirects ended. */
export interface ShownPage extends BrowserAnswer, ReadPage {
  readonly url: URL
}

/** Where a navigation begins. */
interface Start {
  /** Origin of the site with the link or form; null or absent = the person types the address. */
  readonly from?: string | null
}

/** Options of openBrowser. */
interface BrowserOptions {
  readonly send: (request: BrowserRequest) => Promise<BrowserAnswer>
  /** Of the cookies, in epoch milliseconds. */
  readonly nowMs?: () => number
  /** Header `User-Agent`. */
  readonly userAgent?: string
  /** Redirects that the browser does not follow but shows. */
  readonly stopsAt?: (url: URL) => boolean
}

const MOST_REDIRECTS = 20
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** A browser with an empty jar. */
export interface Browser {
  readonly jar: CookieJar
  /** Goes to an address. */
  readonly navigate: (address: string | URL, start?: Start) => Promise<ShownPage>
  /** Follows the link whose text has these words. */
  readonly click: (page: ShownPage, words: string) => Promise<ShownPage>
  /**
   * Submits the first form whose action has these words, with fields filled in.
   *
   * @throws Error where the page's form-action forbids the form or a redirect after it
   */
  readonly submit: (
    page: ShownPage,
    action: string,
    fields?: Readonly<Record<string, string>>,
  ) => Promise<ShownPage>
  /** Posts a form of another site, whose author chose the fields. */
  readonly forge: (
    address: string | URL,
    fields: Readonly<Record<string, string>>,
    start: Required<Start>,
  ) => Promise<ShownPage>
}

/** Opens a browser. */
export function openBrowser(options: BrowserOptions): Browser {
  const { nowMs = Date.now } = options
  const jar = new CookieJar(nowMs)
  const load = (one: Navigation): Promise<ShownPage> => follow(one, jar, options)
  const post = (fields: Readonly<Record<string, string>>) => ({
    method: 'POST',
    body: new URLSearchParams(fields).toString(),
  })
  return {
    jar,
    navigate: (address, { from = null } = {}) =>
      load({ ...GET, url: new URL(address), initiator: from, originHeader: null, policy: null }),
    click: (page, words) => {
      const link = page.links.find(({ text }) => text.includes(words))
      if (link === undefined) throw new Error(`no link says ${words}: ${page.text}`)
      const initiator = page.url.origin
      return load({ ...GET, url: link.url, initiator, originHeader: null, policy: null })
    },
    submit: (page, words, fields = {}) => {
      const form = page.forms.find(({ action }) => action.href.includes(words))
      if (form === undefined) throw new Error(`no form leads to ${words}: ${page.text}`)
      return load({
        ...post({ ...form.fields, ...fields }),
        url: form.action,
        initiator: page.url.origin,
        originHeader: originHeader(page, form.action),
        policy: { page: page.url, directive: formAction(page) },
      })
    },
    forge: (address, fields, { from }) =>
      load({
        ...post(fields),
        url: new URL(address),
        initiator: from,
        originHeader: from,
        policy: null,
      }),
  }
}

const GET = { method: 'GET', body: '' }

/** One navigation on its way. */
interface Navigation {
  readonly method: string
  readonly url: URL
  readonly body: string
  readonly initiator: string | null
  readonly originHeader: string | null
  /** Sources of the page's form-action; null = no form, or no policy. */
  readonly policy: { readonly page: URL; readonly directive: readonly string[] | null } | null
}

async function follow(first: Navigation, jar: CookieJar, options: BrowserOptions) {
  const { send, stopsAt = () => false, userAgent = 'Mozilla/5.0 (X11; Linux x86_64)' } = options
  let one = first
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const { method, url, body, originHeader: origin, policy } = one
    if (policy?.directive && !allows(policy.directive, url, policy.page))
      throw new Error(`form-action ${policy.directive.join(' ')} forbids ${url.href}`)
    const cookie = jar.header(one)
    const answer = await send({
      method,
      url,
      body,
      headers: {
        accept: ACCEPT,
        'user-agent': userAgent,
        ...(cookie === undefined ? {} : { cookie }),
        ...(origin === null ? {} : { origin }),
        ...(method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
      },
    })
    jar.store([answer.headers['set-cookie'] ?? []].flat(), url)
    const { location } = answer.headers
    const next = typeof location === 'string' ? new URL(location, url) : null
    if (next === null || ![301, 302, 303, 307, 308].includes(answer.status) || stopsAt(next))
      return { ...answer, url, ...readPage(answer.body, url) }
    const isKept = answer.status === 307 || answer.status === 308
    const keptOrigin = origin !== null && next.origin !== url.origin ? 'null' : origin
    one = isKept
      ? { ...one, url: next, originHeader: keptOrigin }
      : { ...one, ...GET, url: next, originHeader: null }
  }
  throw new Error(`more than ${MOST_REDIRECTS} redirects, the last to ${one.url.href}`)
}

/** `null` where the page says no-referrer, and to another origin where it says same-origin (Fetch, "append a request Origin header"). */
function originHeader({ headers, referrerPolicy, url }: ShownPage, action: URL): string {
  const policy = referrerPolicy ?? headers['referrer-policy']
  const isHidden =
    policy === 'no-referrer' || (policy === 'same-origin' && action.origin !== url.origin)
  return isHidden ? 'null' : url.origin
}

function formAction({ headers }: ShownPage): readonly string[] | null {
  const policy = headers['content-security-policy']
  const directives = typeof policy === 'string' ? policy.split(';') : []
  const found = directives.find((directive) => directive.trim().startsWith('form-action '))
  return found === undefined ? null : found.trim().split(/ +/).slice(1)
}

const allows = (sources: readonly string[], { origin }: URL, page: URL): boolean =>
  sources.some((source) => {
    if (source === "'self'") return origin === page.origin
    return source === 'https:' ? origin.startsWith('https:') : origin === source
  })
