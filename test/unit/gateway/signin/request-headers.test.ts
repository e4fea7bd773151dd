import { describe, expect, test } from 'vitest'
import { signInRequestHeaders } from '../../../../src/gateway/signin/request-headers.ts'
import { callTo } from '../request-builder.ts'

const ID = '00000000-0000-4000-8000-000000000001'

/** The headers that are passed on, besides those that each request gets. */
function passed(...rawHeaders: readonly string[]): Readonly<Record<string, unknown>> {
  const headers = signInRequestHeaders(callTo('/login', { rawHeaders }))
  const { 'x-request-id': id, 'x-forwarded-for': address, ...others } = headers
  expect([id, address]).toEqual([ID, '192.0.2.1'])
  return others
}

describe('a header of a request to sign in (25.1)', () => {
  test.each([
    ['Accept', 'text/html'],
    ['Accept-Language', 'de'],
    ['Accept-Encoding', 'br'],
    ['Content-Type', 'application/x-www-form-urlencoded'],
    ['Origin', 'https://p.example.com'],
    ['Referer', 'https://p.example.com/login'],
    ['Sec-Fetch-Site', 'same-origin'],
    ['User-Agent', 'a browser'],
    ['Upgrade-Insecure-Requests', '1'],
    ['If-None-Match', '"x"'],
    ['DNT', '1'],
    ['X-Anything', 'é'],
    ['X-Empty', ''],
    ['X-Real-IP', '203.0.113.7'],
    ['X-Platform', 'of nothing'],
    ['X-Forwarded', 'of nothing'],
    ['Proxy', 'of nothing'],
  ])('%s passes', (name, value) =>
    expect(passed(name, value)).toEqual({ [name.toLowerCase()]: value }),
  )

  test.each([
    'Authorization',
    'AUTHORIZATION',
    'Connection',
    'Keep-Alive',
    'Proxy-Authorization',
    'Proxy-Authenticate',
    'Proxy-Connection',
    'Proxy-Anything',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'HTTP2-Settings',
    'Content-Length',
    'Expect',
    'Host',
    'Forwarded',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'X-Forwarded-Anything',
    'X_Forwarded_For',
    'X-Forwarded_Host',
    'X-Platform-Sign-In',
    'X-Platform-Anything',
    'X_Platform_Sign_In',
    'Impersonate-User',
    'Impersonate-Extra-Scopes',
    'Impersonate_User',
    'X-Request-Id',
    'X-Request-ID',
    'Audit-ID',
  ])('%s does not pass', (name) => expect(passed(name, 'forged')).toEqual({}))

  test('passes as often as it came, in its order', () =>
    expect(passed('X-A', '1', 'X-B', '2', 'x-a', '3')).toEqual({ 'x-a': ['1', '3'], 'x-b': '2' }))

  test.each([
    { name: 'names it', connection: ['close, X-A'] },
    { name: 'names it in another case', connection: ['x-a'] },
    { name: 'names it in a second header', connection: ['close', ' ,\tX-a ,'] },
  ])('does not pass where Connection $name', ({ connection }) =>
    expect(
      passed('X-A', '1', 'X-B', '2', ...connection.flatMap((value) => ['Connection', value])),
    ).toEqual({ 'x-b': '2' }),
  )

  test('is the own one of the gateway whatever Connection names', () =>
    expect(passed('Connection', 'x-request-id, x-forwarded-for', 'X-Request-Id', 'forged')).toEqual(
      {},
    ))

  test('says no address where the client has left already', () =>
    expect(signInRequestHeaders(callTo('/login', { remoteAddress: '' }))).toEqual({
      'x-request-id': ID,
    }))
})

const SESSION = '__Host-platform_session=eyJhbGciOiJkaXIifQ..AbC-_123'

describe('a cookie (25.1)', () => {
  test.each([
    { name: 'of the sign-in process passes', sent: [SESSION], cookie: SESSION },
    {
      name: 'of others does not pass',
      sent: [`_ga=1; ${SESSION}; theme=dark; session=x`],
      cookie: SESSION,
    },
    {
      name: 'passes from each of several headers',
      sent: ['a=1', `b=2;${SESSION}`, '__Host-platform_known=k'],
      cookie: `${SESSION}; __Host-platform_known=k`,
    },
    {
      name: 'without a value passes',
      sent: ['__Host-platform_session='],
      cookie: '__Host-platform_session=',
    },
    { name: 'may be one of many', sent: [`${'a=b; '.repeat(3000)}${SESSION}`], cookie: SESSION },
  ])('$name', ({ sent, cookie }) =>
    expect(passed(...sent.flatMap((value) => ['Cookie', value]))).toEqual({ cookie }),
  )

  test.each([
    { name: 'of another case', sent: '__host-platform_session=x' },
    { name: 'of a longer prefix', sent: 'x__Host-platform_session=x' },
    { name: 'with the prefix alone', sent: '__Host-platform_=x' },
    { name: 'of a neighbour', sent: '__Host-platformx=x' },
    { name: 'with the prefix of TLS alone', sent: '__Secure-platform_session=x' },
    {
      name: 'without a name, whose value looks like one of ours',
      sent: '=__Host-platform_session=x',
    },
    { name: 'without an equals sign', sent: '__Host-platform_session' },
    { name: 'with a space in its name', sent: '__Host-platform_session =x' },
    { name: 'with a space in its value', sent: '__Host-platform_session=a b' },
    { name: 'with a comma', sent: '__Host-platform_session=a,__Host-platform_known=b' },
    { name: 'with quotes', sent: '__Host-platform_session="x"' },
    { name: 'with a backslash', sent: '__Host-platform_session=a\\b' },
    { name: 'beyond ASCII', sent: '__Host-platform_session=é' },
    { name: 'after a space that is none of HTTP', sent: '\u00a0__Host-platform_session=x' },
    { name: 'twice with different values', sent: `${SESSION}; __Host-platform_session=x` },
    { name: 'twice with one value', sent: `${SESSION}; ${SESSION}` },
    { name: 'in a quoted value of another', sent: 'a="; __Host-platform_session="x' },
  ])('$name counts for nothing', ({ sent }) => expect(passed('Cookie', sent)).toEqual({}))

  test('that comes twice takes no other with it', () =>
    expect(passed('Cookie', `${SESSION}; ${SESSION}; __Host-platform_known=k`)).toEqual({
      cookie: '__Host-platform_known=k',
    }))

  test('does not pass where Connection names it', () =>
    expect(passed('Connection', 'cookie', 'Cookie', SESSION)).toEqual({}))
})

describe('the authentication of an app (26.3)', () => {
  const BASIC = `Basic ${Buffer.from('grafana:a secret').toString('base64')}`
  const head = (header: object): string => Buffer.from(JSON.stringify(header)).toString('base64url')
  const tokenWith = (header: object): string => `${head(header)}.e30.c2ln`
  const ACCESS_TOKEN = tokenWith({ alg: 'ES256', typ: 'at+jwt', kid: 'k'.repeat(43) })
  const [TOKEN, USERINFO] = ['/oidc/apps/token', '/oidc/apps/userinfo']

  const passedOn = (method: string, path: string, ...values: readonly string[]): unknown => {
    const rawHeaders = values.flatMap((value) => ['Authorization', value])
    return signInRequestHeaders(callTo(path, { method, rawHeaders }))['x-platform-authorization']
  }

  test.each([
    ['POST', TOKEN, BASIC],
    ['POST', TOKEN, BASIC.replace('Basic', 'basic')],
    ['GET', USERINFO, `Bearer ${ACCESS_TOKEN}`],
    ['POST', `${USERINFO}?a=b`, `Bearer ${ACCESS_TOKEN}`],
  ])('passes: %s %s', (method, path, value) => {
    expect(passedOn(method, path, value)).toBe(value)
  })

  test.each([
    ['a secret elsewhere', 'POST', '/auth/password/login', BASIC],
    ['a secret below', 'POST', `${TOKEN}/x`, BASIC],
    ['a secret by GET', 'GET', TOKEN, BASIC],
    ['a secret for userinfo', 'GET', USERINFO, BASIC],
    ['a token for tokens', 'POST', TOKEN, `Bearer ${ACCESS_TOKEN}`],
    ['a token by PUT', 'PUT', USERINFO, `Bearer ${ACCESS_TOKEN}`],
    ['an access key', 'GET', USERINFO, `Bearer pak_${'a'.repeat(43)}_${'b'.repeat(6)}`],
    ['an access key with dots', 'GET', USERINFO, 'Bearer pak_a.b.c'],
    [
      'a token for a cluster',
      'GET',
      USERINFO,
      `Bearer ${tokenWith({ alg: 'ES256', kid: 'k'.repeat(43), typ: 'JWT' })}`,
    ],
    [
      'an ID token of an app',
      'GET',
      USERINFO,
      `Bearer ${tokenWith({ alg: 'ES256', typ: 'JWT', kid: 'k'.repeat(43) })}`,
    ],
    ['two parts', 'GET', USERINFO, `Bearer ${ACCESS_TOKEN.split('.').slice(0, 2).join('.')}`],
    ['four parts', 'GET', USERINFO, `Bearer ${ACCESS_TOKEN}.a`],
    ['more than 8 KiB', 'GET', USERINFO, `Bearer ${ACCESS_TOKEN}${'a'.repeat(8192)}`],
    ['more than one word', 'POST', TOKEN, `${BASIC} ${BASIC}`],
    ['what is no base64', 'POST', TOKEN, 'Basic a:b'],
    ['another scheme', 'POST', TOKEN, 'Digest YTpi'],
  ])('does not pass: %s', (_, method, path, value) => {
    expect(passedOn(method, path, value)).toBeUndefined()
  })

  test('does not pass when it comes twice', () => {
    expect(passedOn('POST', TOKEN, BASIC, BASIC)).toBeUndefined()
  })

  test('never comes from a header that the client names so itself', () => {
    for (const name of ['X-Platform-Authorization', 'X_Platform_Authorization'])
      expect(
        signInRequestHeaders(callTo(TOKEN, { method: 'POST', rawHeaders: [name, BASIC] })),
      ).not.toHaveProperty('x-platform-authorization')
  })
})
