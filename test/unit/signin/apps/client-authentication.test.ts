import { describe, expect, it } from 'vitest'
import {
  askAsProgram,
  askForTokens,
  CLIENT_ID,
  CLIENT_SECRET,
  codeFor,
  exchange,
  OFFLINE,
  tokensFor,
  worldWithApps,
} from '../../../support/signin/app.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { FORM } from '../../../support/signin/requests.ts'

const basic = (id: string, secret: string): Readonly<Record<string, string>> => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

describe('who asks for tokens (26.2)', () => {
  const { client_id: _id, client_secret: _secret, ...ANONYMOUS } = exchange('a code')

  it.each([
    ['a wrong secret', exchange('a code', { client_secret: 'wrong' }), {}, 'invalid_client', 401],
    ['an empty secret', exchange('a code', { client_secret: '' }), {}, 'invalid_client', 401],
    ['an unknown client', exchange('a code', { client_id: 'x' }), {}, 'invalid_client', 401],
    ['nobody', ANONYMOUS, {}, 'invalid_request', 400],
    ['a wrong secret by Basic', ANONYMOUS, basic(CLIENT_ID, 'wrong'), 'invalid_client', 401],
    ['an empty secret by Basic', ANONYMOUS, basic(CLIENT_ID, ''), 'invalid_client', 401],
    ['two ways', exchange('a code'), basic(CLIENT_ID, CLIENT_SECRET), 'invalid_request', 400],
    [
      'two names',
      { ...ANONYMOUS, client_id: 'tool' },
      basic(CLIENT_ID, CLIENT_SECRET),
      'invalid_request',
      400,
    ],
    ['Basic with a wrong escape', ANONYMOUS, basic('%zz', CLIENT_SECRET), 'invalid_request', 400],
  ])('is refused: %s', async (_, fields, headers, error, status) => {
    const answer = await askForTokens(worldWithApps(), fields, headers)
    expect([answer.status, answer.json['error']]).toEqual([status, error])
    const isChallenged = status === 401 && 'authorization' in headers
    expect(answer.headers['www-authenticate']).toBe(isChallenged ? 'Basic realm="apps"' : undefined)
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  it.each([
    ['no grant_type', { grant_type: '' }, 'invalid_request'],
    ['another one', { grant_type: 'password' }, 'unsupported_grant_type'],
  ])('gets the error code for %s', async (_, differs, error) => {
    const answer = await askForTokens(worldWithApps(), exchange('a code', differs))
    expect(answer.json['error']).toBe(error)
  })

  it('gets invalid_request for a body that is not a form, or has a field twice', async () => {
    const world = worldWithApps()
    const send = (type: string, body: string) =>
      askAsProgram(world, {
        method: 'POST',
        path: '/oidc/apps/token',
        headers: { 'content-type': type },
        body,
      })
    const form = new URLSearchParams(exchange('a code')).toString()
    for (const [type, body] of [
      [FORM, `${form}&code=b`],
      ['application/json', JSON.stringify(exchange('a code'))],
      [FORM, `a=${'b'.repeat(65_536)}`],
    ] as const) {
      const answer = await send(type, body)
      expect([answer.status, JSON.parse(answer.body)]).toEqual([
        400,
        { error: 'invalid_request', error_description: expect.any(String) as unknown },
      ])
    }
  })

  it('may try a secret ten times a minute from one address, while other clients go on', async () => {
    const world = worldWithApps()
    const wrong = () => askForTokens(world, exchange('a code', { client_secret: 'wrong' }))
    for (let at = 0; at < 10; at += 1) expect((await wrong()).status).toBe(401)
    const limited = await askForTokens(world, exchange('a code'))
    expect([limited.status, limited.headers['retry-after']]).toEqual([429, '60'])
    const other = await askForTokens(world, { ...ANONYMOUS, client_id: 'tool' })
    expect(other.json['error']).toBe('invalid_grant')
    await world.clock.advance(60_000)
    expect((await askForTokens(world, exchange('a code'))).json['error']).toBe('invalid_grant')
  })

  it('may send a field without a value, which counts as left out (RFC 6749, 3.2)', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser())
    const fields = { ...exchange(code, { client_secret: '' }), scope: '' }
    const answer = await askForTokens(world, fields, basic(CLIENT_ID, CLIENT_SECRET))
    expect(answer.status).toBe(200)
    const asTool = { ...ANONYMOUS, client_id: 'tool', client_secret: '' }
    expect((await askForTokens(world, asTool)).json['error']).toBe('invalid_grant')
    const byBasic = await askForTokens(world, ANONYMOUS, basic('tool', ''))
    expect(byBasic.json['error']).toBe('invalid_grant')
  })

  it('reads of an outage as of any error, and it is counted', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser())
    world.cluster.before = () => {
      throw refused(503, 'ServiceUnavailable')
    }
    const answer = await askForTokens(world, exchange(code), { accept: '*/*' })
    expect([answer.status, answer.json['error']]).toEqual([503, 'temporarily_unavailable'])
    const grant = 'authorization_code'
    expect(world.appReports).toEqual([{ grant, outcome: 'temporarily_unavailable' }])
    // The code was not taken, so the app can try again.
    world.cluster.before = () => undefined
    expect((await askForTokens(world, exchange(code))).status).toBe(200)
  })

  it('may come from a page of another site, reads no cookie, and lets no script read the answer', async () => {
    const world = worldWithApps()
    const code = await codeFor(world.browser())
    const answer = await askForTokens(world, exchange(code), { origin: 'https://evil.example' })
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.headers).join()).not.toContain('access-control')
  })

  it('is logged and counted, without any secret', async () => {
    const world = worldWithApps()
    const tokens = await tokensFor(world, OFFLINE)
    await askForTokens(world, exchange('a code'))
    expect(world.appReports).toEqual([
      { grant: 'authorization_code', outcome: 'issued' },
      { grant: 'authorization_code', outcome: 'invalid_grant' },
    ])
    const lines = world.memory.lines.filter(({ sentence }) => sentence === 'tokens for an app')
    expect(lines.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ client: CLIENT_ID, user: 'ada', outcome: 'issued' }),
      expect.objectContaining({ client: CLIENT_ID, user: '', outcome: 'invalid_grant' }),
    ])
    const all = JSON.stringify(world.memory.lines)
    for (const name of ['access_token', 'id_token', 'refresh_token'])
      expect(all).not.toContain(tokens[name])
    expect(all).not.toContain(CLIENT_SECRET)
  })
})
