import { describe, expect, it } from 'vitest'
import {
  type BrowserAnswer,
  type BrowserRequest,
  openBrowser,
} from '../../support/browser/browser.ts'
import { CookieJar } from '../../support/browser/cookie-jar.ts'

const SITE = new URL('https://platform.example/login')
const HOST = '__Host-a=1; Secure; Path=/'

describe('a cookie jar', () => {
  it.each([
    ['a cookie with all that the prefix __Host- demands', HOST, 'https://platform.example', true],
    ['__Host- without Secure', '__Host-a=1; Path=/', 'https://platform.example', false],
    ['__Host- of another path', '__Host-a=1; Secure; Path=/x', 'https://platform.example', false],
    ['__Host- without a path', '__Host-a=1; Secure', 'https://platform.example', false],
    [
      '__Host- with a domain',
      `${HOST}; Domain=platform.example`,
      'https://platform.example',
      false,
    ],
    ['Secure from a plain connection', 'a=1; Secure', 'http://platform.example', false],
    ['SameSite=None without Secure', 'a=1; SameSite=None', 'https://platform.example', false],
    ['4,096 bytes', `a=${'1'.repeat(4095)}; Path=/`, 'https://platform.example', true],
    ['4,097 bytes', `a=${'1'.repeat(4096)}; Path=/`, 'https://platform.example', false],
  ])('takes or refuses %s', (_, text, from, isTaken) => {
    const jar = new CookieJar(() => 0)
    jar.store([text], new URL(from))
    expect(jar.names(new URL(from))).toHaveLength(isTaken ? 1 : 0)
  })

  it.each([
    ['lax', 'GET', 'https://evil.example', true],
    ['lax', 'POST', 'https://evil.example', false],
    ['lax', 'POST', 'https://platform.example', true],
    ['lax', 'POST', null, true],
    ['none', 'POST', 'https://evil.example', true],
    ['strict', 'GET', 'https://evil.example', false],
    ['strict', 'GET', 'https://platform.example', true],
  ])(
    'sends a cookie of SameSite=%s with a %s from %s: %s',
    (sameSite, method, initiator, isSent) => {
      const jar = new CookieJar(() => 0)
      jar.store([`${HOST}; SameSite=${sameSite}`], SITE)
      const header = jar.header({ url: SITE, method, initiator })
      expect(header).toBe(isSent ? '__Host-a=1' : undefined)
    },
  )

  it('forgets a cookie at its Max-Age, and at once at 0', () => {
    let nowMs = 0
    const jar = new CookieJar(() => nowMs)
    jar.store([`${HOST}; Max-Age=10`, '__Host-b=1; Secure; Path=/; Max-Age=20'], SITE)
    jar.store(['__Host-b=; Secure; Path=/; Max-Age=0'], SITE)
    nowMs = 9999
    expect(jar.names(SITE)).toEqual(['__Host-a'])
    nowMs = 10_000
    expect(jar.names(SITE)).toEqual([])
  })

  it('sends a cookie without SameSite with a POST of another site for two minutes', () => {
    let nowMs = 0
    const jar = new CookieJar(() => nowMs)
    jar.store([HOST], SITE)
    nowMs = 60_000
    jar.store(['__Host-a=2; Secure; Path=/'], SITE)
    const posted = { url: SITE, method: 'POST', initiator: 'https://evil.example' }
    nowMs = 119_999
    expect(jar.header(posted)).toBe('__Host-a=2')
    nowMs = 120_000
    expect(jar.header(posted)).toBeUndefined()
    expect(jar.header({ ...posted, method: 'GET' })).toBe('__Host-a=2')
  })

  it('shows a cookie that is HttpOnly to no script', () => {
    const jar = new CookieJar(() => 0)
    jar.store([`${HOST}; HttpOnly`, 'b=1'], SITE)
    expect(jar.names(SITE, 'script')).toEqual(['b'])
  })

  it('sends a cookie to its own host and path, and over TLS where it is Secure', () => {
    const jar = new CookieJar(() => 0)
    jar.store([HOST, 'b=1; Path=/login'], SITE)
    const cookieFor = (address: string): string | undefined =>
      jar.header({ url: new URL(address), method: 'GET', initiator: null })
    expect(cookieFor('https://other.platform.example/')).toBeUndefined()
    expect(cookieFor('http://platform.example/login/x')).toBe('b=1')
    expect(cookieFor('https://platform.example/loginx')).toBe('__Host-a=1')
  })
})

const page = (body: string, headers: BrowserAnswer['headers'] = {}): BrowserAnswer => ({
  status: 200,
  headers,
  body,
})
const FORM =
  '<form method="post" action="/to"><input type="hidden" name="a" value="1&amp;2"></form>'

describe('a browser', () => {
  const opened = (answers: Readonly<Record<string, BrowserAnswer>>) => {
    const asked: BrowserRequest[] = []
    const browser = openBrowser({
      send: (request) => {
        asked.push(request)
        return Promise.resolve(answers[request.url.pathname] ?? page(''))
      },
    })
    return { browser, asked }
  }

  it.each([
    ['no policy', page(FORM), 'https://platform.example'],
    ['no-referrer', page(FORM, { 'referrer-policy': 'no-referrer' }), 'null'],
    [
      'no-referrer in the header and same-origin in the head',
      page(`<meta name="referrer" content="same-origin">${FORM}`, {
        'referrer-policy': 'no-referrer',
      }),
      'https://platform.example',
    ],
  ])('sends the Origin of a form by the referrer policy: %s', async (_, answer, origin) => {
    const { browser, asked } = opened({ '/login': answer })
    await browser.submit(await browser.navigate(SITE), '/to', { b: '3' })
    expect(asked[1]).toMatchObject({ method: 'POST', body: 'a=1%262&b=3', headers: { origin } })
  })

  it('follows a redirect of a form by GET, without its body', async () => {
    const { browser, asked } = opened({
      '/login': page(FORM),
      '/to': { status: 303, headers: { location: '/end' }, body: '' },
    })
    const shown = await browser.submit(await browser.navigate(SITE), '/to')
    expect(shown.url.pathname).toBe('/end')
    expect(asked[2]).toMatchObject({ method: 'GET', body: '' })
  })

  it.each([
    ['the form', 'https://other.example', '/end'],
    ['a redirect after it', "'self'", 'https://other.example/end'],
  ])('obeys form-action for %s', async (_, source, location) => {
    const { browser } = opened({
      '/login': page(FORM, { 'content-security-policy': `form-action ${source}` }),
      '/to': { status: 303, headers: { location }, body: '' },
    })
    const shown = await browser.navigate(SITE)
    await expect(browser.submit(shown, '/to')).rejects.toThrow('form-action')
  })
})
