import { describe, expect, it } from 'vitest'
import { isCustomHeader, sentAnswer } from '../../../src/signin/answers.ts'
import { refusalPage } from '../../../src/signin/pages/login.ts'
import { PLATFORM, SignInWorld } from '../../support/signin/world.ts'

const OURS = [
  'Cache-Control',
  'Strict-Transport-Security',
  'X-Content-Type-Options',
  'Referrer-Policy',
  'Content-Security-Policy',
  'Content-Type',
  'Content-Length',
  'Content-Encoding',
  'Set-Cookie',
  'Location',
  'Connection',
  'Keep-Alive',
  'Proxy-Authenticate',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
  'Allow',
  'Retry-After',
  'X-Platform-Sign-In',
  'X-Request-Id',
  'Audit-ID',
  'Date',
]

describe('customHttpHeaders (25.2)', () => {
  it.each(OURS.flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]))(
    'never set %s',
    (name) => {
      expect(isCustomHeader(name)).toBe(false)
    },
  )

  it.each(['', 'a b', 'a:b', 'a\r\nSet-Cookie', 'ä'])(
    'never set a name that is none: %j',
    (name) => {
      expect(isCustomHeader(name)).toBe(false)
    },
  )

  it('are in every answer, but for ours and for values that no header has', () => {
    const customHttpHeaders = {
      'X-Frame-Options': 'DENY',
      'Permissions-Policy': 'camera=()',
      'Content-Security-Policy': 'default-src *',
      'cache-control': 'public',
      'X-Injected': 'a\r\nSet-Cookie: a=b',
      'X-Euro': '€',
    }
    const { headers } = sentAnswer(
      { status: 200, content: { page: refusalPage('no') } },
      { ui: {}, customHttpHeaders },
      null,
    )
    expect(headers).toMatchObject({ 'X-Frame-Options': 'DENY', 'Permissions-Policy': 'camera=()' })
    const names = Object.keys(headers).map((name) => name.toLowerCase())
    expect(names.filter((name) => name.startsWith('x-injected') || name === 'x-euro')).toEqual([])
    expect(new Set(names).size).toBe(names.length)
    expect(headers['cache-control']).toBe('no-store')
  })
})

describe('an answer (25.2)', () => {
  it.each([
    ['GET', '/login'],
    ['GET', '/none'],
    ['POST', '/login'],
    ['GET', '/auth/oidc/login'],
    ['GET', '/auth/oidc/callback'],
    ['POST', '/auth/logout'],
    ['POST', '/auth/password/login'],
    ['POST', '/auth/cli/token'],
  ])('to %s %s has the headers that all have', async (method, path) => {
    const world = new SignInWorld({ auth: { customHttpHeaders: { 'X-Frame-Options': 'DENY' } } })
    const { headers } = await world.send({
      method,
      url: new URL(path, PLATFORM),
      headers: { origin: PLATFORM },
      body: '',
    })
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'X-Frame-Options': 'DENY',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; .*frame-ancestors 'none'; base-uri 'none'$/,
      ) as string,
    })
  })
})
