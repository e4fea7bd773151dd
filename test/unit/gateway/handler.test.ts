// Every route without a credential (contract 9.1; threats A8, B2, B11).
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { PUBLIC_ROUTES } from '../../../src/gateway/stages/public-routes.ts'
import type { PublicPage } from '../../../src/serving/http/pages.ts'
import { asked, gateway, withoutIds } from './handler-builder.ts'
import { type RawAnswer, answersIn } from './listening-server.ts'

const UNAUTHORIZED = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'platform access key not found. Please login again',
  reason: 'Unauthorized',
  code: 401,
}

function expectUnauthorized({ code, headers, body }: RawAnswer | undefined = NOTHING): void {
  expect(code).toBe(401)
  expect(headers).toMatchObject({
    'www-authenticate': 'Bearer',
    'content-type': 'application/json',
    'cache-control': 'no-store',
  })
  expect(JSON.parse(body)).toEqual(UNAUTHORIZED)
}
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const NOTHING: RawAnswer = { code: 0, headers: {}, body: 'null' }

describe('the routes without a credential (contract 9.1)', () => {
  test('are complete', () => {
    expect(PUBLIC_ROUTES).toEqual([
      '/healthz',
      '/readyz',
      '/oidc/.well-known/openid-configuration',
      '/oidc/keys',
      '/oidc/revoked',
    ])
  })

  describe.each(PUBLIC_ROUTES)('%s', (route) => {
    test('answers GET, with a query too', async () => {
      const { answers, counted } = await asked(`GET ${route}?verbose&a=b?c`)
      expect(answers).toMatchObject([{ code: 200, body: `${route} verbose=&a=b%3Fc` }])
      expect(counted).toEqual(['Public GET 200'])
    })

    test('answers HEAD without a body', async () => {
      const { text } = await asked(`HEAD ${route}`)
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
      expect(text).toContain(`content-length: ${route.length + 1}\r\n`)
      expect(text).toMatch(/\r\n\r\n$/)
    })

    test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'])(
      'answers no %s',
      async (method) => {
        const { answers } = await asked(`${method} ${route}`)
        expect(answers).toMatchObject([{ code: 405, headers: { allow: 'GET, HEAD' } }])
        expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ reason: 'MethodNotAllowed' })
      },
    )

    test.each([
      { name: 'a trailing slash', target: `${route}/` },
      { name: 'another segment', target: `${route}/x` },
      { name: 'two leading slashes', target: `/${route}` },
      { name: 'a doubled slash', target: route.replace(/\/(?=[^/]*$)/, '//') },
      { name: 'another case', target: route.toUpperCase() },
      {
        name: 'a letter encoded',
        target: route.replace(/z$|n$|s$|d$/, (last) => `%${last.charCodeAt(0).toString(16)}`),
      },
      { name: 'a dot segment', target: `/.${route}` },
      { name: 'a dot segment up', target: `/x/..${route}` },
      { name: 'an encoded dot segment', target: `/x/%2e%2e${route}` },
      { name: 'a backslash', target: `${route}\\` },
      { name: 'a parameter', target: `${route};a` },
      { name: 'a fragment', target: `${route}#a` },
      { name: 'an encoded question mark', target: `${route}%3fverbose` },
      { name: 'a whole URL', target: `https://127.0.0.1${route}` },
      { name: 'another server', target: `//127.0.0.1${route}` },
      { name: 'its beginning only', target: route.slice(0, -1) },
    ])('with $name is not a public route', async ({ target }) => {
      const { answers, counted } = await asked(`GET ${target}`)
      expectUnauthorized(answers[0])
      expect(counted).toEqual(['Other GET 401'])
    })
  })
})

test.each<{ name: string; page: PublicPage }>([
  {
    name: 'throws',
    page: () => {
      throw new Error('HUNTER2')
    },
  },
  { name: 'rejects', page: () => Promise.reject(new Error('HUNTER2')) },
])(
  'a page that $name gets a 500 without details, and a line in the log',
  async ({ page: broken }) => {
    const { say, counted, lines } = await gateway({ '/oidc/keys': broken })
    const text = await say('GET /oidc/keys HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
    expect(answersIn(text)).toMatchObject([{ code: 500 }])
    expect(text).not.toContain('HUNTER2')
    expect(counted).toEqual(['Public GET 500'])
    expect(lines).toEqual([
      {
        level: 'error',
        sentence: 'request failed',
        fields: {
          requestId: expect.stringMatching(UUID),
          method: 'GET',
          target: 'Public',
          path: '/oidc/keys',
          err: expect.objectContaining({ message: 'HUNTER2' }),
        },
      },
    ])
  },
)

describe('every other path (contract 9.1, 10.2)', () => {
  const PATHS = [
    '/',
    '/version',
    '/livez',
    '/metrics',
    '/debug/pprof',
    '/logs',
    '/openapi/v3',
    '/oidc',
    '/oidc/',
    '/oidc/.well-known',
    '/.well-known/openid-configuration',
    '/kubernetes/management/api/v1/secrets',
    '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys',
    '/kubernetes/cluster/c/api',
    '/constructor',
    '/__proto__',
  ]

  test.each(PATHS)('requires a credential: %s', async (path) => {
    const { answers } = await asked(`GET ${path}`)
    expect(answers).toHaveLength(1)
    expectUnauthorized(answers[0])
  })

  test.each(['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'M-SEARCH'])(
    'requires a credential for other methods too: %s',
    async (method) => {
      const { answers, counted } = await asked(`${method} /api`)
      expect(answers[0]?.code).toBe(401)
      expect(counted).toEqual([`Other ${method} 401`])
    },
  )

  test('does not reveal why a credential is refused', async () => {
    const texts: string[] = []
    for (const credential of [
      '',
      'Authorization: Bearer pak_x\r\n',
      'Authorization: Basic YTpi\r\n',
      'Authorization: \r\n',
    ]) {
      const { text } = await asked('GET /version', credential)
      texts.push(withoutIds(text))
    }
    expect(new Set(texts).size).toBe(1)
    expectUnauthorized(answersIn(texts[0] ?? '')[0])
  })
})

describe("every event of Node's HTTP server leads to the same response (threats A8)", () => {
  const websocket = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

  test.each([
    {
      name: 'a WebSocket',
      start: 'GET /exec',
      headers: `Connection: upgrade\r\nUpgrade: websocket\r\n${websocket}`,
    },
    { name: 'SPDY', start: 'POST /exec', headers: 'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n' },
    {
      name: 'HTTP/2 in the clear',
      start: 'GET /exec',
      headers:
        'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
    },
    {
      name: 'an upgrade to anything',
      start: 'GET /exec',
      headers: 'Connection: upgrade\r\nUpgrade: x\r\n',
    },
    { name: 'CONNECT', start: 'CONNECT 169.254.169.254:80', headers: '' },
    {
      name: 'Expect: 100-continue',
      start: 'POST /x',
      headers: 'Content-Length: 5\r\nExpect: 100-continue\r\n',
    },
    {
      name: 'another Expect',
      start: 'POST /x',
      headers: 'Content-Length: 5\r\nExpect: 200-maybe\r\n',
    },
    { name: 'OPTIONS *', start: 'OPTIONS *', headers: '' },
  ])('$name: 401, and the connection ends', async ({ start, headers }) => {
    const { say, counted, lines } = await gateway()
    const closing = headers.includes('onnection:') ? '' : 'Connection: close\r\n'
    const body = headers === '' ? '' : 'hello'
    const text = await say(`${start} HTTP/1.1\r\nHost: h\r\n${closing}${headers}\r\n${body}`)
    const answers = answersIn(text)
    expectUnauthorized(answers[0])
    expect(answers).toHaveLength(1)
    expect(counted).toHaveLength(1)
    expect(lines).toEqual([])
  })

  test('CONNECT to a public path does not return the page', async () => {
    const { answers } = await asked('CONNECT /healthz')
    expect(answers).toMatchObject([{ code: 405 }])
  })

  test('the server reads nothing after an upgrade request on its connection', async () => {
    const { say, counted } = await gateway()
    const upgrade =
      'GET /exec HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'
    const text = await say(`${upgrade}GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n`)
    expect(answersIn(text).map(({ code }) => code)).toEqual([401])
    expect(counted).toEqual(['Other GET 401'])
  })

  test.each([
    { name: 'an upgrade', headers: 'Connection: upgrade\r\nUpgrade: websocket\r\n' },
    { name: 'an expectation', headers: 'Connection: close\r\nExpect: 100-continue\r\n' },
  ])('a public route answers $name like any request', async ({ headers }) => {
    const { say } = await gateway()
    const text = await say(`GET /healthz HTTP/1.1\r\nHost: h\r\n${headers}\r\n`)
    expect(answersIn(text)).toMatchObject([{ code: 200, body: '/healthz ' }])
  })

  test.each([
    { name: 'CONNECT', last: 'CONNECT a:1 HTTP/1.1\r\nHost: h\r\n\r\n' },
    {
      name: 'an upgrade',
      last: 'GET /exec HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    },
  ])('$name pipelined with other requests waits for its turn', async ({ last }) => {
    const { say, counted, lines } = await gateway()
    const one = 'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n'
    const text = await say(`${one}GET /x HTTP/1.1\r\nHost: h\r\n\r\n${one}${last}`)
    expect(answersIn(text).map(({ code }) => code)).toEqual([200, 401, 200, 401])
    expect(counted).toHaveLength(4)
    expect(lines).toEqual([])
  })

  test('answers an upgrade after another request on its connection', async () => {
    const { connect } = await gateway()
    const socket = await connect()
    let said = ''
    socket.setEncoding('utf8').on('data', (part: string) => (said += part))
    socket.write('GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n')
    await once(socket, 'data')
    socket.write('GET /x HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
    await once(socket, 'close')
    expect(answersIn(said).map(({ code }) => code)).toEqual([200, 401])
  })

  test('pipelined requests are answered in order', async () => {
    const { say, counted } = await gateway()
    const one = (path: string, more = ''): string =>
      `GET ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`
    const text = await say(one('/healthz') + one('/x') + one('/oidc/keys', 'Connection: close\r\n'))
    expect(answersIn(text).map(({ code }) => code)).toEqual([200, 401, 200])
    expect(counted).toHaveLength(3)
  })
})
