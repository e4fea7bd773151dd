import { describe, expect, it } from 'vitest'
import { destinationOf, parametersOf } from '../../../../src/signin/attempts/destination.ts'
import { checkCode } from '../../../../src/signin/attempts/terminal.ts'

const OWN = [
  '/login',
  '/login?next=/login',
  '/login#top',
  '/auth/oidc/login',
  '/auth/oidc/login?next=//evil.example',
  '/auth/a.b~c-d_e/x',
  '/oidc/apps/authorize',
  '/oidc/apps/authorize?client_id=a&redirect_uri=https://app.example/cb&state=%20',
  '/oidc/apps/a/b/c',
  `/login?${'a'.repeat(505)}`,
]

const FOREIGN = [
  '',
  '/',
  '//evil.example',
  '//evil.example/login',
  '///evil.example',
  '/\\evil.example',
  '/\\/evil.example',
  '\\/evil.example',
  '\\\\evil.example',
  'https://evil.example/login',
  'HTTPS://evil.example',
  'https:/login',
  'https:login',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,x',
  ' /login',
  '/login ',
  '\t/login',
  '/\t/evil.example',
  '/\n/evil.example',
  '/login\r\nSet-Cookie: a=b',
  '/login\n',
  '/login\u0000',
  '/löğin',
  '/login\u2028',
  '／／evil.example',
  'login',
  './login',
  '../login',
  '?next=/login',
  '#login',
  '@evil.example',
  '/@evil.example',
  '/login/',
  '/login/x',
  '/login;x',
  '/login%2f',
  '/Login',
  '/loginx',
  '/auth',
  '/auth/',
  '/auth/logout/',
  '/auth/oidc',
  '/auth/oidc/',
  '/auth/oidc/login/',
  '/auth/oidc/login/x',
  '/auth/../login',
  '/auth/oidc/..',
  '/auth/./login',
  '/auth/oidc%2flogin/x',
  '/auth//login',
  '/oidc/apps',
  '/oidc/apps/',
  '/oidc/apps/..',
  '/oidc/apps/../../evil',
  '/oidc/apps//evil.example',
  '/oidc/apps/%2e%2e/x',
  '/oidc/appsx/authorize',
  '/kubernetes/management/api',
  '/healthz',
  '/.well-known/openid-configuration',
  `/login?${'a'.repeat(506)}`,
]

const nextOf = (next: string): string | null => destinationOf(new URLSearchParams({ next })).next

describe('the parameter next (25.2, SE)', () => {
  it.each(OWN)('leads to the own page %s', (next) => {
    expect(nextOf(next)).toBe(next)
  })

  it.each(FOREIGN)('is as if it were absent: %j', (next) => {
    expect(nextOf(next)).toBeNull()
  })

  it('never leads a browser to another host', () => {
    for (const next of [...OWN, ...FOREIGN]) {
      const path = nextOf(next) ?? '/login'
      expect(new URL(path, 'https://platform.example').host).toBe('platform.example')
    }
  })
})

const CHALLENGE = 'c'.repeat(43)
const TERMINAL = { cli: 'true', port: '1024', state: 's', code_challenge: CHALLENGE }

describe('a terminal in the parameters (25.2, SE)', () => {
  it.each([
    [{}, 1024],
    [{ port: '65535' }, 65_535],
    [{ state: 'Aa0_-'.padEnd(128, 'x') }, 1024],
  ])('is taken with %j', (differs, port) => {
    const parameters = new URLSearchParams({ ...TERMINAL, ...differs })
    const destination = destinationOf(parameters)
    expect(destination.terminal?.port).toBe(port)
    expect(destinationOf(parametersOf(destination))).toEqual(destination)
  })

  it('pastes its code where it names no port', () => {
    const { port: _, ...parameters } = TERMINAL
    expect(destinationOf(new URLSearchParams(parameters)).terminal?.port).toBeNull()
  })

  it.each([
    { cli: 'TRUE' },
    { cli: '' },
    { cli: '1' },
    { port: '' },
    { port: '80' },
    { port: '1023' },
    { port: '65536' },
    { port: '99999' },
    { port: '01024' },
    { port: '1e4' },
    { port: '0x1000' },
    { port: '+2048' },
    { port: '2048 ' },
    { port: '2048@evil.example' },
    { port: '2048.evil.example' },
    { port: '２０４８' },
    { state: '' },
    { state: 'a b' },
    { state: 's'.repeat(129) },
    { state: '"><script>' },
    { state: 'a\n' },
    { code_challenge: '' },
    { code_challenge: 'c'.repeat(42) },
    { code_challenge: 'c'.repeat(44) },
    { code_challenge: `${'c'.repeat(42)}=` },
    { code_challenge: `${'c'.repeat(42)}\n` },
  ])('is refused with %j', (differs) => {
    const parameters = new URLSearchParams({ ...TERMINAL, ...differs })
    expect(() => destinationOf(parameters)).toThrow(expect.objectContaining({ code: 400 }))
  })

  it.each(['state', 'code_challenge'])('is refused without %s', (name) => {
    const parameters = new URLSearchParams(TERMINAL)
    parameters.delete(name)
    expect(() => destinationOf(parameters)).toThrow(expect.objectContaining({ code: 400 }))
  })
})

describe('the check code of a terminal (25.2)', () => {
  it('has the first eight hex digits of SHA-256 of the challenge', () => {
    // printf abc | sha256sum
    expect(checkCode('abc')).toBe('ba78-16bf')
  })
})
