// Refresh tokens (contract 26.3).
import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import { describe, expect, it } from 'vitest'
import { newChain, refreshVerdict } from '../../../../src/signin/apps/refresh-chain.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import {
  askForTokens,
  CLIENT_ID,
  CLIENTS,
  discovered,
  OFFLINE,
  refreshWith,
  tokensFor,
  userinfo,
  worldWithApps,
} from '../../../support/signin/app.ts'
import type { SignInWorld } from '../../../support/signin/world.ts'

const refresh = (world: SignInWorld, token: unknown, differs = {}) =>
  askForTokens(world, refreshWith(token, differs))

const tokenOf = async (answer: ReturnType<typeof refresh>): Promise<unknown> =>
  (await answer).json['refresh_token']

describe('a refresh token (26.3)', () => {
  it('gets new tokens from openid-client, with the time of the sign-in and groups as they are now', async () => {
    const world = worldWithApps()
    const tokens = await tokensFor(world, OFFLINE)
    const config = await discovered(world)
    world.cluster.put({ kind: 'Team', metadata: { name: 'sre' }, spec: { users: [] } } as never)
    await world.clock.advance(3_600_000)
    const later = await discovered(world)
    const refreshed = await oidc.refreshTokenGrant(later, String(tokens['refresh_token']))
    expect(config.serverMetadata().issuer).toBe(later.serverMetadata().issuer)
    expect(refreshed.claims()).toMatchObject({
      auth_time: decodeJwt(String(tokens['id_token']))['auth_time'],
      groups: [],
      aud: CLIENT_ID,
    })
    expect(refreshed.claims()?.['nonce']).toBeUndefined()
    expect((await userinfo(world, refreshed.access_token)).status).toBe(200)
  })

  it('is replaced each time, and the one before gets the same again for ten seconds', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const second = await tokenOf(refresh(world, first))
    expect(second).not.toBe(first)
    await world.clock.advance(10_000)
    expect(await tokenOf(refresh(world, first))).toBe(second)
    const third = await tokenOf(refresh(world, second))
    expect(third).not.toBe(second)
    expect((await refresh(world, third)).status).toBe(200)
  })

  it('that comes again later ends the grant, with its key', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const answer = await refresh(world, first)
    await world.clock.advance(10_001)
    expect((await refresh(world, first)).json['error']).toBe('invalid_grant')
    expect((await refresh(world, answer.json['refresh_token'])).json['error']).toBe('invalid_grant')
    expect((await userinfo(world, answer.json['access_token'])).status).toBe(401)
    const keys = world.cluster.all('OwnedAccessKey').map(({ metadata }) => metadata.name)
    expect(keys.filter((name) => name.startsWith('oidc-'))).toEqual([])
  })

  it('of two replacements ago ends the grant also within ten seconds', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const third = await tokenOf(refresh(world, await tokenOf(refresh(world, first))))
    expect((await refresh(world, first)).json['error']).toBe('invalid_grant')
    expect((await refresh(world, third)).json['error']).toBe('invalid_grant')
  })

  it('is replaced by one token for two workers that come at once, at different replicas', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const [one, other] = await Promise.all([0, 1].map(() => tokenOf(refresh(world, first))))
    expect(one).toBe(other)
    expect((await refresh(world, one)).status).toBe(200)
  })

  it('works after conflicts of writes', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    let conflicts = 0
    world.cluster.before = ({ verb }) => {
      if (verb !== 'replace' || conflicts === 2) return
      conflicts += 1
      throw refused(409, 'Conflict')
    }
    expect((await refresh(world, first)).status).toBe(200)
    expect(conflicts).toBe(2)
  })

  it.each([
    ['another secret', (token: string) => token.replace(/\.[^.]{43}\./, `.${'a'.repeat(43)}.`)],
    ['another proof', (token: string) => token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')],
    ['the name alone', (token: string) => token.split('.')[0] ?? ''],
    ['nothing', () => ''],
  ])('with %s is refused, and ends nothing', async (_, changed) => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const user = world.cluster.object('User', 'ada')
    world.disable('ada')
    // Also of a person who may not enter: only who has the token learns that.
    expect((await refresh(world, changed(String(first)))).json).toEqual({
      error: 'invalid_grant',
      error_description: 'the refresh token is wrong or has ended',
    })
    world.cluster.put(user as never)
    expect((await refresh(world, first)).status).toBe(200)
  })

  it('of a grant that is made up asks the API server 60 times a minute at most', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    world.cluster.calls.length = 0
    const parts = String(first).split('.')
    const madeUp = [`oidc-${'a'.repeat(26)}`, ...parts.slice(1)].join('.')
    for (let at = 0; at < 70; at += 1)
      expect((await refresh(world, madeUp)).json['error']).toBe('invalid_grant')
    expect(world.cluster.calls).toHaveLength(60)
    expect((await refresh(world, first)).status).toBe(200)
  })

  it('of a grant that the watch has not brought yet works', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    world.cluster.isStale = true
    world.secrets.remove(world.cluster.object('Secret', String(first).split('.')[0] ?? '') as never)
    expect((await refresh(world, first)).status).toBe(200)
  })

  it('of another client is refused, and ends nothing', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const other = { ...CLIENTS[0], name: 'o', clientId: 'other', clientSecret: 'x' }
    world.configure({ oidc: { enabled: true, clients: [...CLIENTS, other] } })
    const asOther = { client_id: 'other', client_secret: 'x' }
    expect((await refresh(world, first, asOther)).json['error']).toBe('invalid_grant')
    expect((await refresh(world, first)).status).toBe(200)
  })

  it('may ask for less, and the next one still has all', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const { json } = await refresh(world, first, { scope: 'groups' })
    expect([json['scope'], json['id_token']]).toEqual(['groups', undefined])
    const next = await refresh(world, json['refresh_token'])
    expect(next.json['scope']).toBe('openid groups offline_access')
  })

  it.each(['openid email', 'openid unknown', ' '])('may not ask for more: "%s"', async (scope) => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    expect((await refresh(world, first, { scope })).json['error']).toBe('invalid_scope')
    expect((await refresh(world, first)).status).toBe(200)
  })

  it('goes on without the session', async () => {
    const world = worldWithApps()
    const tokens = await tokensFor(world, OFFLINE)
    for (const { metadata } of world.cluster.all('Secret'))
      if (metadata.name.startsWith('login-')) world.cluster.remove('Secret', metadata.name)
    expect((await userinfo(world, tokens['access_token'])).status).toBe(200)
    expect((await refresh(world, tokens['refresh_token'])).status).toBe(200)
  })

  it('is refused while the User is disabled, and works again afterwards', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const user = world.cluster.object('User', 'ada')
    world.disable('ada')
    expect((await refresh(world, first)).json['error']).toBe('invalid_grant')
    world.cluster.put(user as never)
    expect((await refresh(world, first)).status).toBe(200)
  })

  it.each([
    ['gone', (world: SignInWorld) => world.cluster.remove('User', 'ada')],
    [
      'another one of the name',
      (world: SignInWorld) => {
        world.cluster.remove('User', 'ada')
        world.user('ada')
      },
    ],
  ])('is refused for a User that is %s', async (_, spoil) => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    spoil(world)
    expect((await refresh(world, first)).json['error']).toBe('invalid_grant')
  })

  it('ends with accessKeyMaxTTLSeconds, as its key does', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    const auth = { accessKeyMaxTTLSeconds: 100 }
    world.configure({ oidc: { enabled: true, clients: CLIENTS }, auth })
    await world.clock.advance(99_999)
    const second = await tokenOf(refresh(world, first))
    expect(second).toBeDefined()
    await world.clock.advance(1)
    expect((await refresh(world, second)).json['error']).toBe('invalid_grant')
  })

  it('ends with its grant, when the key is deleted', async () => {
    const world = worldWithApps()
    const { refresh_token: first } = await tokensFor(world, OFFLINE)
    world.cluster.remove('Secret', String(first).split('.')[0] ?? '')
    expect((await refresh(world, first)).json['error']).toBe('invalid_grant')
  })
})

describe('a chain of refresh tokens', () => {
  it('shows nothing of the next one in a token', () => {
    const { chain, token } = newChain(`oidc-${'a'.repeat(26)}`, (bytes) => Buffer.alloc(bytes, 1))
    const verdict = refreshVerdict(token, chain, 0)
    const [, secret = ''] = verdict.kind === 'rotate' ? verdict.token.split('.') : []
    expect(secret).toHaveLength(43)
    expect(token).not.toContain(secret)
  })

  it('makes no token from what is stored alone', () => {
    let fill = 0
    const grant = `oidc-${'a'.repeat(26)}`
    const { chain, token } = newChain(grant, (bytes) => Buffer.alloc(bytes, (fill += 1)))
    expect(refreshVerdict(token, chain, 0).kind).toBe('rotate')
    for (const guess of [chain.key, chain.current])
      expect(refreshVerdict(`${grant}.${guess}.${guess}`, chain, 0).kind).toBe('foreign')
  })
})
