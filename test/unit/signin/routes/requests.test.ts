import { describe, expect, it } from 'vitest'
import { ask, FORM, JSON_TYPE } from '../../../support/signin/requests.ts'
import { PASSWORD, PLATFORM, SignInWorld } from '../../../support/signin/world.ts'

describe('a request (25.2)', () => {
  it.each([
    ['GET', '/', 404, null],
    ['GET', '/login/', 404, null],
    ['GET', '/auth/oidc', 404, null],
    ['GET', '/auth/oidc/other', 404, null],
    ['GET', '/auth/none/login', 404, null],
    ['GET', '/auth/none/callback', 404, null],
    ['GET', '/auth/oidc/login/', 404, null],
    ['GET', '/auth/oidc%2f/login', 404, null],
    ['GET', '/oidc/apps/authorize', 404, null],
    ['POST', '/login', 405, 'GET, HEAD'],
    ['OPTIONS', '/login', 405, 'GET, HEAD'],
    ['GET', '/auth/logout', 405, 'POST'],
    ['GET', '/auth/password/login', 405, 'POST'],
    ['GET', '/auth/cli/token', 405, 'POST'],
    ['HEAD', '/auth/oidc/login', 405, 'GET'],
    ['POST', '/auth/oidc/login', 405, 'GET'],
    ['POST', '/auth/oidc/callback', 405, 'GET'],
    ['HEAD', '/auth/oidc/callback', 405, 'GET, POST'],
    ['HEAD', '/login', 200, null],
    ['GET', '/login?next=/login&next=/login', 400, null],
    ['GET', '/login?a=1&a=2', 400, null],
    ['GET', '/auth/oidc/callback?state=a&state=b', 400, null],
    ['GET', '/login?next=/login?next=/login', 200, null],
  ])('%s %s gets %i', async (method, path, status, allow) => {
    const answer = await ask(new SignInWorld(), { method, path })
    expect(answer.status).toBe(status)
    expect(answer.headers['allow'] ?? null).toBe(allow)
  })

  it.each([
    ['another type', 'text/plain', 'username=a&password=b', 415],
    ['no type', undefined, 'username=a&password=b', 415],
    ['a multipart form', 'multipart/form-data; boundary=a', '', 415],
    ['a parameter of its type', `${FORM}; charset=utf-8`, 'username=a&password=b', 401],
    ['a field twice', FORM, 'username=a&password=b&password=c', 400],
    ['no password', FORM, 'username=a', 400],
    ['no name', FORM, 'username=&password=b', 400],
    ['malformed JSON', JSON_TYPE, '{', 400],
    ['a list', JSON_TYPE, '["a"]', 400],
    ['null', JSON_TYPE, 'null', 400],
    ['a number as a field', JSON_TYPE, '{"username":"a","password":1}', 400],
    ['a list as a field', JSON_TYPE, '{"username":"a","password":["b"]}', 400],
    ['a name twice', JSON_TYPE, '{"username":"a","password":"b","password":"c"}', 400],
    [
      'a name twice, escaped',
      JSON_TYPE,
      '{"username":"a","password":"b","pa\\u0073sword":"c"}',
      400,
    ],
    ['deep JSON', JSON_TYPE, `{"username":"a","password":${'['.repeat(30_000)}`, 400],
    ['bytes that are not UTF-8', FORM, Buffer.from([0x75, 0xff]), 400],
    ['a malformed terminal', FORM, 'username=a&password=b&cli=true&state=a', 400],
    ['65,536 bytes', FORM, `username=a&password=${'b'.repeat(65_516)}`, 401],
    ['65,537 bytes', FORM, `username=a&password=${'b'.repeat(65_517)}`, 413],
    ['__proto__', JSON_TYPE, '{"__proto__":"a","username":"a","password":"b"}', 401],
  ])('to sign in with %s is answered by its fault', async (_, type, body, status) => {
    const path = '/auth/password/login'
    const asked = type === undefined ? { path, body } : { path, body, type }
    expect((await ask(new SignInWorld(), asked)).status).toBe(status)
  })

  it('with many parameters takes a time that grows with their number, and not with its square', async () => {
    const fastestMs = async (parameters: number): Promise<number> => {
      const names = Array.from({ length: parameters }, (_, at) => (at + 1296).toString(36))
      const asked = { path: '/auth/password/login', type: FORM, body: names.join('&') }
      let fastest = Number.POSITIVE_INFINITY
      for (let run = 0; run < 5; run += 1) {
        const startMs = performance.now()
        expect((await ask(new SignInWorld(), asked)).status).toBe(400)
        fastest = Math.min(fastest, performance.now() - startMs)
      }
      return fastest
    }
    const few = await fastestMs(1000)
    // The square would be 256 times.
    expect(await fastestMs(16_000)).toBeLessThan(64 * few)
  })

  it.each([
    [undefined, 'text/html; charset=utf-8'],
    ['*/*', 'text/html; charset=utf-8'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['application/json', 'application/json'],
    ['application/json, text/html;q=0.9', 'application/json'],
    ['application/json;q=0.8, text/html', 'text/html; charset=utf-8'],
    ['application/*', 'application/json'],
    ['application/json;q=0, */*', 'text/html; charset=utf-8'],
    ['application/json;q=x', 'text/html; charset=utf-8'],
  ])('that accepts %s gets its error as %s', async (accept, type) => {
    const asked = { method: 'GET', path: '/none', ...(accept === undefined ? {} : { accept }) }
    const answer = await ask(new SignInWorld(), asked)
    expect(answer.headers['content-type']).toBe(type)
    const start = type === JSON_TYPE ? '{"kind":"Status"' : '<!doctype html>'
    expect(answer.body.startsWith(start)).toBe(true)
  })

  it.each([
    ['other', 401],
    ['unknown', 503],
  ] as const)(
    'of a caller who is %s gets a code without a body (25.1)',
    async (verdict, status) => {
      const world = new SignInWorld()
      world.verdict = verdict
      const answer = await ask(world, { method: 'GET', path: '/login' })
      expect(answer).toMatchObject({ status, headers: {}, body: '' })
    },
  )

  it('before the keys that seal are there is answered as an outage', async () => {
    const world = new SignInWorld()
    world.keys = null
    expect((await ask(world, { method: 'GET', path: '/login' })).status).toBe(503)
  })

  it('whose client leaves leaves no outage in metrics and log', async () => {
    const world = new SignInWorld()
    world.userWithPassword('ada')
    const left = new AbortController()
    world.cluster.before = () => {
      left.abort('gone')
      throw new Error('cut')
    }
    await world.sendRaw({
      method: 'POST',
      url: new URL('/auth/password/login', PLATFORM),
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify({ username: 'ada', password: PASSWORD }),
      gone: left.signal,
    })
    expect(world.reports).toEqual([])
  })
})
