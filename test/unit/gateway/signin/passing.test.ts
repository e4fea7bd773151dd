// Requests to sign in on their way through a listening gateway (contract 25.1).
import { describe, expect, test } from 'vitest'
import { outcomeHeader } from '../../../../src/domain/signin/outcome.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { gateway, withoutIds } from '../handler-builder.ts'
import { PAGE, TOKEN, afterBody, gatewayTo, startStandIn } from './signing-in.ts'

const FORM = 'username=ada&password=correct+horse+battery'

describe('a request to sign in (25.1)', () => {
  test('reaches the sign-in process with its method, path, query and body as they are', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { ask } = await gatewayTo(process)
    const target = '/auth/oidc/callback?code=a%2Fb&state=x&&iss=https://i'
    const length = `Content-Length: ${FORM.length}`
    expect(await ask(`POST ${target}`, [length], FORM)).toMatchObject({ code: 200, body: 'page' })
    expect(process.received).toMatchObject([{ start: `POST ${target}`, body: FORM }])
  })

  test.each(['GET', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND'])(
    'may have method %s',
    async (method) => {
      const process = await startStandIn(PAGE)
      const { ask } = await gatewayTo(process)
      expect(await ask(`${method} /login`)).toMatchObject({ code: 200, body: 'page' })
      expect(process.received).toMatchObject([{ start: `${method} /login`, body: '' }])
    },
  )

  test('may be a HEAD, whose answer has the length of the page', async () => {
    const process = await startStandIn((_, response) =>
      response.setHeader('content-length', 4711).end(),
    )
    const { ask } = await gatewayTo(process)
    const { code, headers, text } = await ask('HEAD /login')
    expect([code, headers['content-length']]).toEqual([200, '4711'])
    expect(text.endsWith('\r\n\r\n')).toBe(true)
  })

  test('may send its body in chunks', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { ask } = await gatewayTo(process)
    const chunked = ['Transfer-Encoding: chunked']
    await ask('POST /auth/password/login', chunked, '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
    expect(process.received).toMatchObject([{ body: 'abcde', isWhole: true }])
  })

  test('is told to continue once the process reads its body', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { ask } = await gatewayTo(process)
    const expecting = ['Expect: 100-continue', 'Content-Length: 3']
    const { text } = await ask('POST /auth/password/login', expecting, 'abc')
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/)
    expect(process.received).toMatchObject([{ body: 'abc' }])
  })

  test("carries the gateway's token, ID and the address of the client, and the host of the process", async () => {
    const process = await startStandIn(PAGE)
    const { ask } = await gatewayTo(process)
    const { headers } = await ask('GET /login', [
      'Authorization: Bearer pak_of-a-person',
      'X-Request-Id: forged',
      'X-Forwarded-For: 203.0.113.7',
      'X-Forwarded-Host: evil.example.com',
      'Cookie: a=1; __Host-platform_session=s; b=2',
    ])
    const sent = process.received[0]?.headers.toSorted() ?? []
    expect(sent.filter(([name]) => name !== 'connection')).toEqual([
      ['authorization', `Bearer ${TOKEN}`],
      ['cookie', '__Host-platform_session=s'],
      ['host', new URL(process.origin).host],
      ['x-forwarded-for', '127.0.0.1'],
      ['x-request-id', headers['x-request-id']],
    ])
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  test.each([
    { name: 'with another path', start: 'GET /auth/oidc/login/x', code: 404 },
    { name: 'with a fragment', start: 'GET /login?next=/#x', code: 404 },
    { name: 'in absolute form', start: 'GET https://p.example.com/login', code: 401 },
    { name: 'with an encoded path', start: 'GET /%6cogin', code: 401 },
  ])('$name does not reach the process', async ({ start, code }) => {
    const process = await startStandIn(PAGE)
    const { ask } = await gatewayTo(process)
    const answer = await ask(start)
    expect(answer).toMatchObject({ code })
    expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', code })
    expect(process.received).toEqual([])
  })

  test.each([
    { name: 'a length and chunks', headers: ['Content-Length: 5', 'Transfer-Encoding: chunked'] },
    { name: 'chunks and a length', headers: ['Transfer-Encoding: chunked', 'Content-Length: 5'] },
    { name: 'two lengths', headers: ['Content-Length: 5', 'Content-Length: 6'] },
    { name: 'one length twice', headers: ['Content-Length: 5', 'Content-Length: 5'] },
    { name: 'a list of lengths', headers: ['Content-Length: 5, 5'] },
    { name: 'a signed length', headers: ['Content-Length: +5'] },
    { name: 'a length in hexadecimal', headers: ['Content-Length: 0x5'] },
    { name: 'chunks twice', headers: ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'] },
    { name: 'an encoding of another name', headers: ['Transfer-Encoding: xchunked'] },
    { name: 'an encoding after a tab of its own', headers: ['Transfer-Encoding: \u000bchunked'] },
    { name: 'a space before the colon', headers: ['Content-Length : 5'] },
    { name: 'a folded header', headers: ['X-A: b', ' Transfer-Encoding: chunked'] },
    { name: 'a bare line feed', headers: ['X-A: b\nTransfer-Encoding: chunked'] },
    { name: 'a NUL', headers: ['X-A: \0'] },
  ])('with $name is refused: two servers could read it differently', async ({ headers }) => {
    const process = await startStandIn(PAGE)
    const { ask } = await gatewayTo(process)
    const smuggled = '0\r\n\r\nGET /auth/oidc/login HTTP/1.1\r\nHost: h\r\n\r\n'
    const { text } = await ask('POST /auth/password/login', headers, smuggled)
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(text.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
    expect(process.received).toEqual([])
  })

  test.each([
    { name: 'two hosts', headers: ['Host: q.example.com'] },
    { name: 'two types', headers: ['Content-Type: a/b', 'Content-Type: c/d'] },
    { name: 'two origins', headers: ['Origin: https://a', 'Origin: https://b'] },
    { name: 'another encoding', headers: ['Transfer-Encoding: gzip, chunked'] },
  ])('with $name is refused before its body is read', async ({ headers }) => {
    const process = await startStandIn(PAGE)
    const { ask } = await gatewayTo(process)
    expect(await ask('POST /auth/password/login', headers)).toMatchObject({ code: 400 })
    expect(process.received).toEqual([])
  })

  test.each([
    { name: 'a WebSocket', headers: ['Upgrade: websocket'] },
    { name: 'HTTP/2', headers: ['Upgrade: h2c', 'HTTP2-Settings: AAAA'] },
  ])('cannot be an upgrade to $name', async ({ headers }) => {
    const process = await startStandIn(PAGE)
    const { say } = await gatewayTo(process)
    const lines = ['GET /login HTTP/1.1', 'Host: h', 'Connection: upgrade', ...headers]
    expect(await say(`${lines.join('\r\n')}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 501 /)
    expect(process.received).toEqual([])
  })

  test.each(['/login', 'p.example.com:443'])('cannot be a CONNECT to %s', async (target) => {
    const process = await startStandIn(PAGE)
    const { say } = await gatewayTo(process)
    expect(await say(`CONNECT ${target} HTTP/1.1\r\nHost: h\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 (?:400|401|501) /,
    )
    expect(process.received).toEqual([])
  })

  test('is a request to an unknown path where there is no sign-in process', async () => {
    const { say } = await gateway()
    const answerTo = async (path: string): Promise<string> =>
      withoutIds(await say(`GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`))
    const unknown = await answerTo('/nowhere')
    expect(unknown).toMatch(/^HTTP\/1\.1 401 /)
    for (const path of ['/login', '/login/', '/auth/oidc/login', '/auth/logout', '/oidc/apps/keys'])
      expect(await answerTo(path)).toBe(unknown)
  })
})

describe('the answer of the sign-in process (25.1)', () => {
  test.each([200, 204, 303, 400, 401, 403, 404, 429, 500, 502, 503])(
    'passes with code %i',
    async (code) => {
      const process = await startStandIn((_, response) => response.writeHead(code).end('x'))
      const { ask, warned } = await gatewayTo(process)
      expect(await ask('GET /login')).toMatchObject({ code })
      expect(warned).toEqual([])
    },
  )

  test('passes with all its headers but those of the connection', async () => {
    const process = await startStandIn((_, response) =>
      response
        .writeHead(
          303,
          [
            ['Location', 'https://idp.example.com/authorize?state=x'],
            ['Set-Cookie', '__Host-platform_attempt=a; Path=/; Secure; HttpOnly; SameSite=Lax'],
            ['Set-Cookie', '__Host-platform_session=; Max-Age=0; Path=/; Secure'],
            ['Content-Security-Policy', "default-src 'none'"],
            ['Strict-Transport-Security', 'max-age=31536000'],
            ['X-Custom', 'é'],
            ['Connection', 'x-hop'],
            ['X-Hop', '1'],
            ['Keep-Alive', 'timeout=1'],
            ['Proxy-Authenticate', 'Basic'],
            ['Trailer', 'x'],
            ['Upgrade', 'h2c'],
          ].flat(),
        )
        .end('moved'),
    )
    const { ask } = await gatewayTo(process)
    const { code, headers, body, text } = await ask('GET /auth/oidc/login')
    expect([code, body]).toEqual([303, 'moved'])
    expect(text.match(/^set-cookie: .*$/gim)).toEqual([
      'set-cookie: __Host-platform_attempt=a; Path=/; Secure; HttpOnly; SameSite=Lax',
      'set-cookie: __Host-platform_session=; Max-Age=0; Path=/; Secure',
    ])
    expect(headers).toMatchObject({
      location: 'https://idp.example.com/authorize?state=x',
      'content-security-policy': "default-src 'none'",
      'strict-transport-security': 'max-age=31536000',
      connection: 'close',
      // One byte of Latin-1.
      'x-custom': '\ufffd',
    })
    const dropped = ['x-hop', 'keep-alive', 'proxy-authenticate', 'trailer', 'upgrade']
    expect(Object.keys(headers).filter((name) => dropped.includes(name))).toEqual([])
  })

  test('passes with a body of a megabyte in chunks', async () => {
    const page = 'Z'.repeat(1024 ** 2)
    const process = await startStandIn((_, response) => {
      response.write(page.slice(0, 1000))
      response.end(page.slice(1000))
    })
    const { ask } = await gatewayTo(process)
    const { text } = await ask('GET /login')
    expect(text.match(/Z/g)).toHaveLength(page.length)
    expect(text.endsWith('\r\n0\r\n\r\n')).toBe(true)
  })

  test('loses its outcome, which goes into the access log', async () => {
    const outcome = outcomeHeader({
      provider: 'oidc',
      subject: 'https://i.example.com#42',
      user: 'ådå',
      outcome: 'refused',
      reason: 'groups_required',
    })
    const process = await startStandIn((_, response) =>
      response.writeHead(403, { 'X-Platform-Sign-In': outcome }).end('no'),
    )
    const { ask, lines } = await gatewayTo(process)
    const { text, headers } = await ask('GET /auth/oidc/callback?code=SECRET&state=SECRET')
    expect(text.toLowerCase()).not.toContain('x-platform-sign-in')
    expect(lines).toEqual([
      {
        level: 'info',
        sentence: 'sign-in',
        fields: {
          requestId: headers['x-request-id'],
          method: 'GET',
          target: 'SignIn',
          signInProvider: 'oidc',
          signInSubject: 'https://i.example.com#42',
          signInUser: 'ådå',
          signInOutcome: 'refused',
          signInReason: 'groups_required',
          status: 403,
        },
      },
    ])
  })

  test('has a line in the access log, fifty times a second where it has changed no session', async () => {
    const outcomes = ['refused', 'begun', 'signed_in', 'signed_out'] as const
    let at = 0
    const process = await startStandIn((_, response) => {
      const outcome = outcomes[Math.floor(at / 40)] ?? 'refused'
      at += 1
      const header = outcomeHeader({ provider: '', subject: '', user: '', outcome, reason: null })
      response.setHeader('x-platform-sign-in', header).end()
    })
    const clock = manualClock(0)
    const { ask, lines } = await gatewayTo(process, { clock })
    for (let times = 0; times < 160; times += 1) await ask('GET /login')
    const logged = (): readonly unknown[] => lines.map(({ fields }) => fields['signInOutcome'])
    const counts = outcomes.map((outcome) => logged().filter((one) => one === outcome).length)
    expect(counts).toEqual([40, 10, 40, 40])
    await clock.advance(1000)
    await ask('GET /login')
    expect(logged().at(-1)).toBe('refused')
  })

  test.each([
    { name: 'is no JSON', outcome: ['begun'] },
    { name: 'is JSON of another form', outcome: ['{"outcome":"signed_in"}'] },
    {
      name: 'is too long',
      outcome: [
        JSON.stringify({
          provider: 'x'.repeat(5000),
          subject: '',
          user: '',
          outcome: 'begun',
          reason: null,
        }),
      ],
    },
    {
      name: 'comes twice',
      outcome: Array.from({ length: 2 }, () =>
        outcomeHeader({ provider: '', subject: '', user: '', outcome: 'begun', reason: null }),
      ),
    },
  ])('passes, and its outcome counts for nothing where that $name', async ({ outcome }) => {
    const process = await startStandIn((_, response) =>
      response.setHeader('x-platform-sign-in', outcome).end('page'),
    )
    const { ask, lines } = await gatewayTo(process)
    const { code, text } = await ask('GET /login')
    expect([code, lines]).toEqual([200, []])
    expect(text.toLowerCase()).not.toContain('x-platform-sign-in')
  })

  test('is counted', async () => {
    const process = await startStandIn((_, response) => response.writeHead(303).end())
    const { ask, counted } = await gatewayTo(process)
    await ask('GET /login')
    await ask('POST /auth/logout', ['Content-Length: 0'])
    await ask('GET /auth/x')
    expect(counted).toEqual(['SignIn GET 303', 'SignIn POST 303', 'SignIn GET 404'])
  })
})
