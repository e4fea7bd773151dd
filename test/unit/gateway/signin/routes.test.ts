import { describe, expect, test } from 'vitest'
import { signInPath } from '../../../../src/gateway/signin/routes.ts'

describe('a path of signing in (25.1)', () => {
  test.each([
    '/login',
    '/auth/logout',
    '/auth/oidc/login',
    '/auth/oidc/callback',
    '/auth/password/login',
    '/auth/cli/token',
    '/auth/logout/login',
    '/auth/My-Connector_1.x~/callback',
    '/auth/.../..x',
    '/auth/.hidden/a.',
    '/oidc/apps/authorize',
    '/oidc/apps/.well-known/openid-configuration',
    '/oidc/apps/a/b/c/d/e',
  ])('%s is passed on', (path) => expect(signInPath(path)).toBe('route'))

  test.each([
    '/login/',
    '/login/x',
    '/auth',
    '/auth/',
    '/auth/x',
    '/auth/logout/',
    '/auth//login',
    '/auth/oidc/',
    '/auth/oidc/login/',
    '/auth/oidc/login/x',
    '/auth/oidc//login',
    '/auth/./login',
    '/auth/../login',
    '/auth/oidc/.',
    '/auth/oidc/..',
    '/auth/../kubernetes',
    '/auth/%2e%2e/login',
    '/auth/oidc%2flogin',
    '/auth/oidc/log%69n',
    '/auth/oidc/login%00',
    '/auth/oidc/login;x=1',
    '/auth/oidc/login,x',
    '/auth/oidc/login=x',
    '/auth/oidc/login@x',
    '/auth/oidc/login:1',
    '/auth/oidc/login#x',
    '/auth/oidc/login*',
    "/auth/oidc/login'",
    '/auth/oidc/lo(gin',
    '/auth/oidc/login\\x',
    '/auth/oidc\\login',
    '/auth/oidc/lo gin',
    '/auth/oidc/login\n',
    '/auth/oidc/login\u00e9',
    '/auth/oïdc/login',
    '/auth/oidc/log\u0131n',
    '/oidc/apps',
    '/oidc/apps/',
    '/oidc/apps//authorize',
    '/oidc/apps/../keys',
    '/oidc/apps/./token',
    '/oidc/apps/token/',
    '/oidc/apps/token/..',
    '/oidc/apps/%2e%2e/keys',
  ])('%j is answered 404: it is below one that is passed on', (path) =>
    expect(signInPath(path)).toBe('unusable'),
  )

  test.each([
    '/',
    '',
    '/LOGIN',
    '/Login',
    '/login.html',
    '/login%2f',
    '/login;x',
    '/login#x',
    '/logins',
    '/loginx/login',
    '//login',
    '/./login',
    '/../login',
    '/x/../login',
    '/%6cogin',
    '/a/login',
    '/authx/oidc/login',
    '/Auth/oidc/login',
    '/auth%2foidc/login',
    '//auth/oidc/login',
    '/oidc/keys',
    '/oidc/appsx',
    '/oidc/app/authorize',
    '/oidc/.well-known/openid-configuration',
    'login',
    '*',
    'h:443',
    'https://h/login',
    'https://h/auth/oidc/login',
    '/kubernetes/management/login',
    '/kubernetes/management/auth/oidc/login',
  ])('%j is any other path', (path) => expect(signInPath(path)).toBe('other'))

  test.each([
    { query: '', kind: 'route' },
    { query: 'next=%2Foidc%2Fapps%2Fauthorize%3Fx%3D1', kind: 'route' },
    { query: 'code=a&state=b&code=c', kind: 'route' },
    { query: "a[]=?/:@!$&'()*+,;=%", kind: 'route' },
    { query: 'next=/#x', kind: 'unusable' },
    { query: '#', kind: 'unusable' },
    { query: 'next=\u00e9', kind: 'unusable' },
    { query: 'next= x', kind: 'unusable' },
    { query: 'next=\u007f', kind: 'unusable' },
    { query: 'next=\n', kind: 'unusable' },
  ])('/login with query $query is $kind', ({ query, kind }) =>
    expect(signInPath('/login', query)).toBe(kind),
  )

  test('is known in a time that grows no faster than it', () => {
    const long = '/auth/'.padEnd(60_000, 'a.') + '/'
    const startMs = performance.now()
    expect(signInPath(long)).toBe('unusable')
    expect(signInPath('/oidc/apps' + '/a'.repeat(30_000) + '/')).toBe('unusable')
    expect(performance.now() - startMs).toBeLessThan(1000)
  })
})
