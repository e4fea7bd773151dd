import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { html } from '../../../../src/signin/pages/html.ts'
import { renderPage } from '../../../../src/signin/pages/layout.ts'
import { legalHtml } from '../../../../src/signin/pages/legal.ts'
import {
  handOverPage,
  loginPage,
  personPage,
  refusalPage,
} from '../../../../src/signin/pages/login.ts'
import { attribute, readPage } from '../../../support/browser/page.ts'

const URL_OF_PAGE = new URL('https://platform.example/login')
const TERMINAL = { port: 2048, state: 'a', challenge: 'c'.repeat(43) }
const NOWHERE = { next: null, terminal: null }

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onclick='alert(1)",
  '" onclick="alert(1)',
  '</title><script>x</script>',
  '</h1></main><form action="https://evil.example">',
  '<!--',
  '-->',
  '&lt;script&gt;',
  '${7*7}',
  'a\u0000b',
  'a\u001bb',
  'javascript:alert(1)',
]

/** Tags and names of attributes of a page, in order. */
const shapeOf = (text: string): string =>
  readPage(text, URL_OF_PAGE)
    .elements.map(({ tagName, attrs }) => [tagName, ...attrs.map(({ name }) => name)].join(' '))
    .join('\n')

/** Every page with this text wherever a page takes one. */
const pagesWith = (text: string) => ({
  'the page to sign in': renderPage(
    loginPage(
      {
        providers: [{ id: text, label: text }],
        hasPasswords: true,
        legal: html`${text}`,
      },
      { next: text, terminal: { ...TERMINAL, state: text, challenge: text } },
    ),
  ),
  'the page of the person': renderPage(personPage({ user: text, endsMs: null, signOut: null })),
  'the page of a terminal': renderPage(
    handOverPage(text, text, { ...TERMINAL, state: text, challenge: text }),
  ),
  'the page of a refusal': renderPage(refusalPage(text)),
})

describe('a page (25.2, SF)', () => {
  it.each(HOSTILE)(
    'shows %j as text, with the elements and attributes that it always has',
    (text) => {
      const shapes = (shown: string) =>
        Object.entries(pagesWith(shown)).map(([name, page]) => [name, shapeOf(page.text)])
      expect(shapes(text)).toEqual(shapes('x'))
    },
  )

  it('shows a name as it is, and no control character', () => {
    const { text } = renderPage(
      personPage({ user: '<a> & "b"\u0007', endsMs: null, signOut: null }),
    )
    expect(readPage(text, URL_OF_PAGE).text).toContain('Signed in as <a> & "b"\ufffd')
  })

  it('has no script, no handler and no style but its own, whose hash the policy names', () => {
    for (const { text, contentSecurityPolicy } of Object.values(pagesWith('x'))) {
      const { elements } = readPage(text, URL_OF_PAGE)
      expect(
        elements.some(({ tagName }) => ['script', 'iframe', 'object', 'base'].includes(tagName)),
      ).toBe(false)
      const attributes = elements.flatMap(({ attrs }) => attrs.map(({ name }) => name))
      expect(attributes.filter((name) => name.startsWith('on') || name === 'style')).toEqual([])
      const style = /<style>([^]*?)<\/style>/.exec(text)?.[1] ?? ''
      const hash = createHash('sha256').update(style).digest('base64')
      expect(contentSecurityPolicy).toContain(`style-src 'sha256-${hash}'`)
    }
  })

  it.each([
    [
      'to sign in',
      loginPage({ providers: [], hasPasswords: true, legal: null }, NOWHERE),
      "'self'",
    ],
    [
      'to sign in on a terminal',
      loginPage(
        { providers: [], hasPasswords: true, legal: null },
        { next: null, terminal: TERMINAL },
      ),
      "'self'",
    ],
    ['of the person', personPage({ user: 'ada', endsMs: null, signOut: null }), "'self'"],
    [
      'of a person whose provider has a sign-out, with where that leads to',
      personPage({
        user: 'ada',
        endsMs: null,
        signOut: new URL(
          'https://provider.example/end?post_logout_redirect_uri=https://after.example/x',
        ),
      }),
      "'self' https://provider.example https://after.example",
    ],
    ['of a terminal', handOverPage('ada', 'code', TERMINAL), "'self' http://127.0.0.1:2048"],
    [
      'of a terminal that pastes',
      handOverPage('ada', 'code', { ...TERMINAL, port: null }),
      "'self'",
    ],
    ['of a refusal', refusalPage('no'), "'self'"],
    [
      'of a provider whose host would add a directive',
      personPage({ user: 'ada', endsMs: null, signOut: new URL('https://a;script-src/x') }),
      "'self'",
    ],
  ])('%s has the policy that its forms need, and no more', (_, page, formAction) => {
    const { contentSecurityPolicy } = renderPage(page)
    const directives = contentSecurityPolicy.split('; ')
    expect(directives).toEqual([
      "default-src 'none'",
      expect.stringMatching(/^style-src 'sha256-[A-Za-z0-9+/=]{44}'$/),
      "img-src 'self'",
      `form-action ${formAction}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
  })

  it.each([
    ['https://cdn.example/a/logo.svg?x=1', "'self' https://cdn.example"],
    ['http://cdn.example:8080/logo.svg', "'self' http://cdn.example:8080"],
    ['https://user:secret@cdn.example/logo.svg', "'self' https://cdn.example"],
    ['https://cdn.example;form-action/x', "'self'"],
    ['https://cdn.example,x/x', "'self'"],
    ["https://a'b/x", "'self'"],
    ['data:image/svg+xml,<svg/>', "'self'"],
    ['javascript:alert(1)', "'self'"],
    ['/logo.svg', "'self'"],
    ['no URL', "'self'"],
  ])('shows the logo %s by its policy, or none', (logoURL, sources) => {
    const { text, contentSecurityPolicy } = renderPage(refusalPage('no'), { logoURL })
    expect(contentSecurityPolicy).toContain(`; img-src ${sources}; form-action 'self'; `)
    const images = readPage(text, URL_OF_PAGE).elements.filter(({ tagName }) => tagName === 'img')
    expect(images).toHaveLength(sources === "'self'" ? 0 : 1)
  })

  it.each([
    '#fff;}body{display:none',
    'red',
    'url(https://evil.example)',
    '#12',
    '#12345',
    '</style><script>',
    '#ffffff}',
    '',
  ])('takes no colour that is more than a colour: %s', (colour) => {
    const plain = renderPage(refusalPage('no'))
    expect(renderPage(refusalPage('no'), { primaryColor: colour, accentColor: colour })).toEqual(
      plain,
    )
  })

  it('takes the colours of the platform', () => {
    const { text } = renderPage(refusalPage('no'), { primaryColor: '#a1b2c3', accentColor: '#ABC' })
    expect(text).toContain('--primary:#a1b2c3;--on-primary:#000;--accent:#ABC;')
  })

  it.each([
    ['#fc0', '#000'],
    ['#FFCC00', '#000'],
    ['#ffcc0080', '#000'],
    ['#757575', '#fff'],
    ['#777777', '#000'],
    ['#03f8', '#fff'],
    ['#1f5fbf', '#fff'],
  ])('has texts on buttons of colour %s that can be read', (primaryColor, text) => {
    expect(renderPage(refusalPage('no'), { primaryColor }).text).toContain(`--on-primary:${text};`)
  })

  it('lets a browser send its origin with a form to the platform, and only there', () => {
    const policyOf = (page: Parameters<typeof renderPage>[0]) =>
      readPage(renderPage(page).text, URL_OF_PAGE).referrerPolicy
    expect(policyOf(loginPage({ providers: [], hasPasswords: true, legal: null }, NOWHERE))).toBe(
      'same-origin',
    )
    expect(policyOf(personPage({ user: 'ada', endsMs: null, signOut: null }))).toBe('same-origin')
    expect(policyOf(handOverPage('ada', 'code', TERMINAL))).toBeNull()
    expect(policyOf(refusalPage('no'))).toBeNull()
  })

  it('says so where nothing is set up (25.2)', () => {
    const { text } = renderPage(
      loginPage({ providers: [], hasPasswords: false, legal: null }, NOWHERE),
    )
    expect(readPage(text, URL_OF_PAGE).text).toContain('No way to sign in is set up')
  })

  it('has a link for each provider, which leads on to the destination', () => {
    const choices = { providers: [{ id: 'oidc', label: 'Corp' }], hasPasswords: false, legal: null }
    const { text } = renderPage(loginPage(choices, { next: '/login?a=b&c', terminal: null }))
    const { links, forms } = readPage(text, URL_OF_PAGE)
    expect(links.map((link) => [link.text, link.url.href])).toEqual([
      ['Sign in with Corp', 'https://platform.example/auth/oidc/login?next=%2Flogin%3Fa%3Db%26c'],
    ])
    expect(forms).toEqual([])
  })
})

const LEGAL = [
  ['<p>One<br>two <b>b</b><i>i</i><em>e</em><strong>s</strong></p>', 'p br b i em strong'],
  ['<ul><li>a</ul><ol><li>b</ol>', 'ul li ol li'],
  ['<a href="https://a.example">x</a>', 'a'],
  ['<a href="HTTPS://a.example/?x=1&y=2">x</a>', 'a'],
  ['<p class="a" id="b" style="color:red" onclick="x">a</p>', 'p'],
  ['<a href="https://a.example" onclick="x" target="_blank">x</a>', 'a'],
  ['<a href="http://a.example">x</a>', ''],
  ['<a href="javascript:alert(1)">x</a>', ''],
  ['<a href=" java\nscript:alert(1)">x</a>', ''],
  ['<a href="&#106;avascript:alert(1)">x</a>', ''],
  ['<a href="data:text/html,x">x</a>', ''],
  ['<a href="//a.example">x</a>', ''],
  ['<a href="/auth/logout">x</a>', ''],
  ['<a href>x</a>', ''],
  ['<a>x</a>', ''],
  ['<a href="https://a.example"><a href="javascript:x">y</a></a>', 'a'],
  ['<script>alert(1)</script>', ''],
  ['<SCRIPT SRC=//evil.example>', ''],
  ['<scr<script>ipt>alert(1)</script>', ''],
  ['<img src=x onerror=alert(1)>', ''],
  ['<svg onload=alert(1)><p>a', 'p'],
  ['<svg><a href="https://a.example">x</a></svg>', 'a'],
  ['<svg><style><img src=x onerror=alert(1)></style></svg>', ''],
  ['<math><mtext></p><img src=x onerror=alert(1)></mtext></math>', 'p'],
  ['<iframe srcdoc="<script>x</script>"></iframe>', ''],
  ['<noscript><p title="</noscript><img src=x onerror=alert(1)>">', ''],
  ['<template><script>x</script></template>', ''],
  ['<style>@import "//evil.example"</style>', ''],
  ['<link rel=stylesheet href=//evil.example>', ''],
  ['<meta http-equiv=refresh content="0;url=//evil.example">', ''],
  ['<base href=//evil.example>', ''],
  ['<form action=//evil.example><input name=password><button>x</button></form>', ''],
  ['<object data=x></object><embed src=x>', ''],
  ['<textarea><p>a</textarea>', ''],
  ['<title></title><p>a</p>', 'p'],
  ['<h1>Title</h1><table><tr><td>cell</table>', ''],
  ['<!--[if IE]><script>x</script><![endif]-->', ''],
  ['<![CDATA[<script>x</script>]]>', ''],
  ['</div></main></body></html><p>after', 'p'],
  ['<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>', 'p'],
  ['<p>a<p>b</div>c', 'p p'],
  ['<b><p>misnested</b></p>', 'b p b'],
  ['<', ''],
  ['<p', ''],
  ['&', ''],
  ['<p>\u0000</p>', 'p'],
] as const

describe('the legal text (25.2, SF)', () => {
  it.each(LEGAL)('keeps of %j the elements %j', (template, tags) => {
    const { elements } = readPage(`<main>${legalHtml(template).text}</main>`, URL_OF_PAGE)
    const kept = elements.slice(elements.findIndex(({ tagName }) => tagName === 'main') + 1)
    expect(kept.map(({ tagName }) => tagName).join(' ')).toBe(tags)
    for (const element of kept) {
      const names = element.attrs.map(({ name }) => name)
      expect(names).toEqual(element.tagName === 'a' ? ['href', 'rel'] : [])
      if (element.tagName !== 'a') continue
      expect(attribute(element, 'rel')).toBe('noopener noreferrer')
      expect(new URL(attribute(element, 'href') ?? '').protocol).toBe('https:')
    }
  })

  it('shows the text of elements that it does not keep', () => {
    expect(legalHtml('<h1>Terms</h1> <table><td>cell</table>').text).toBe('Terms cell')
    expect(legalHtml('<div>a <u>b</u> &amp; <x-y>c</x-y></div>').text).toBe('a b &amp; c')
  })

  it('is read in bounded depth', () => {
    const deep = '<b>'.repeat(20_000)
    expect(legalHtml(`${deep}x`).text.length).toBeLessThan(200)
  })
})
