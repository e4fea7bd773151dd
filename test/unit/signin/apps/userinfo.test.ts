// Userinfo, the documents of the issuer, and tokens of either issuer at the other (contract 26.1, 26.3).
import { SignJWT, decodeJwt, exportJWK, generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { readClaims } from '../../../../src/domain/token/verified-token.ts'
import { APP_SIGNING_KEYS_SECRET } from '../../../../src/api/names.ts'
import { decodeToken } from '../../../../src/authn/token/compact-jws.ts'
import { secretText } from '../../../../src/api/objects.ts'
import { appSigningKind } from '../../../../src/signin/apps/signing-keys.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import {
  askAsProgram,
  ISSUER,
  OFFLINE,
  tokensFor,
  userinfo,
  worldWithApps,
  ENDINGS,
} from '../../../support/signin/app.ts'
import { PLATFORM, type SignInWorld } from '../../../support/signin/world.ts'

const uidOf = (world: SignInWorld): unknown => world.cluster.object('User', 'ada')?.metadata.uid

describe('userinfo (26.3)', () => {
  it.each([
    ['openid', {}],
    ['openid profile', { name: 'Ada Lovelace', preferred_username: 'ada' }],
    ['openid email', { email: 'ada@example.com' }],
    ['openid groups', { groups: ['sre'] }],
  ])('has the claims of scope %s, as they are now', async (scope, claims) => {
    const world = worldWithApps()
    const tokens = await tokensFor(world, { scope })
    for (const method of ['GET', 'POST']) {
      const answer = await userinfo(world, tokens['access_token'], method)
      expect([answer.status, JSON.parse(answer.body)]).toEqual([
        200,
        { sub: uidOf(world), ...claims },
      ])
    }
  })

  it('leaves out what the User does not have', async () => {
    const world = worldWithApps()
    const user = world.cluster.object('User', 'ada')
    world.cluster.put({ ...user, spec: { passwordRef: { name: 'password-of-ada' } } } as never)
    const tokens = await tokensFor(world)
    expect(JSON.parse((await userinfo(world, tokens['access_token'])).body)).toEqual({
      sub: uidOf(world),
      preferred_username: 'ada',
      groups: ['sre'],
    })
  })

  it.each(ENDINGS)('refuses the token of a person who %s', async (_, spoil) => {
    const world = worldWithApps()
    const tokens = await tokensFor(world)
    spoil(world)
    const answer = await userinfo(world, tokens['access_token'])
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([
      401,
      'Bearer realm="apps", error="invalid_token"',
    ])
  })

  it('refuses a token after 15 minutes', async () => {
    const world = worldWithApps()
    const tokens = await tokensFor(world, OFFLINE)
    await world.clock.advance(899_000)
    expect((await userinfo(world, tokens['access_token'])).status).toBe(200)
    await world.clock.advance(1000)
    expect((await userinfo(world, tokens['access_token'])).status).toBe(401)
  })

  it('answers an outage as a program reads it', async () => {
    const world = worldWithApps()
    const tokens = await tokensFor(world)
    world.cluster.before = () => {
      throw refused(503, 'ServiceUnavailable')
    }
    const answer = await userinfo(world, tokens['access_token'])
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
      503,
      { error: 'temporarily_unavailable' },
    ])
  })

  it('asks for a token where there is none, and takes none from elsewhere', async () => {
    const world = worldWithApps()
    const { access_token: token } = await tokensFor(world)
    for (const path of [
      '/oidc/apps/userinfo',
      `/oidc/apps/userinfo?access_token=${String(token)}`,
    ]) {
      const answer = await askAsProgram(world, { path })
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([
        401,
        'Bearer realm="apps"',
      ])
    }
  })
})

/** A process whose own key signs anything: what only whoever holds it could do. */
async function forged(
  world: SignInWorld,
  claims: Readonly<Record<string, unknown>>,
  typ = 'at+jwt',
): Promise<string> {
  const secret = world.cluster.object('Secret', APP_SIGNING_KEYS_SECRET)
  const key = appSigningKind(() => true).read(secretText(secret as never, 'keys'))?.[0]
  if (key === undefined) throw new Error('no key')
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'ES256', typ, kid: key.publicKey.kid })
    .sign(key.privateKey)
}

/** Asks past the gateway, which passes on what looks like an access token alone. */
const askDirectly = (world: SignInWorld, token: unknown) =>
  world.sendRaw({
    method: 'GET',
    url: new URL(`${ISSUER}/userinfo`),
    headers: { 'x-platform-authorization': `Bearer ${String(token)}` },
    body: '',
  })

describe('a token of one issuer at the other (26.1)', () => {
  it('is refused at userinfo, whatever of it is wrong', async () => {
    const world = worldWithApps()
    const { access_token: token, id_token: idToken } = await tokensFor(world)
    const claims = decodeJwt(String(token))
    expect((await askDirectly(world, await forged(world, claims))).status).toBe(200)
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const header = { alg: 'ES256', typ: 'at+jwt', kid: 'k'.repeat(43) }
    const wrong = [
      idToken,
      await forged(world, claims, 'JWT'),
      await forged(world, { ...claims, iss: `${PLATFORM}/oidc` }),
      await forged(world, { ...claims, token_use: 'direct-cluster-endpoint' }),
      await forged(world, { ...claims, token_use: undefined }),
      await forged(world, { ...claims, exp: undefined }),
      await forged(world, { ...claims, grant: `oidc-${'a'.repeat(26)}` }),
      await forged(world, { ...claims, sub: 'another' }),
      await forged(world, { ...claims, client_id: 'tool' }),
      await new SignJWT(claims).setProtectedHeader(header).sign(privateKey),
      await new SignJWT(claims)
        .setProtectedHeader({ ...header, jwk: await exportJWK(publicKey) })
        .sign(privateKey),
      `${String(token).slice(0, -2)}AA`,
    ]
    for (const one of wrong) expect((await askDirectly(world, one)).status).toBe(401)
  })

  it('is refused at a cluster, by its header, its issuer and token_use', async () => {
    const world = worldWithApps()
    const { access_token: token, id_token: idToken } = await tokensFor(world)
    expect(decodeToken(String(token))).toBe('header')
    for (const one of [token, idToken]) {
      const claims = decodeJwt(String(one)) as JsonMap
      const verdict = (issuer: string) => readClaims(claims, { issuer, cluster: 'c' })
      expect(verdict(`${PLATFORM}/oidc`)).toEqual({ ok: false, claim: 'iss' })
      // Audiences of clusters are URLs, and an app is none.
      expect(verdict(ISSUER)).toEqual({ ok: false, claim: 'aud' })
    }
    expect(
      readClaims(
        { ...(decodeJwt(String(token)) as JsonMap), aud: [ISSUER] },
        {
          issuer: ISSUER,
          cluster: 'c',
        },
      ),
    ).toEqual({ ok: false, claim: 'token_use' })
  })
})

describe('what apps find (26.1)', () => {
  it('is a document with every address below the issuer', async () => {
    const { body } = await askAsProgram(worldWithApps(), {
      path: '/oidc/apps/.well-known/openid-configuration',
    })
    expect(JSON.parse(body)).toMatchObject({
      issuer: ISSUER,
      token_endpoint: `${ISSUER}/token`,
      authorization_response_iss_parameter_supported: true,
      id_token_signing_alg_values_supported: ['ES256'],
    })
  })

  it('is public keys without their private parts', async () => {
    const { body } = await askAsProgram(worldWithApps(), { path: '/oidc/apps/keys' })
    const { keys } = JSON.parse(body) as { keys: readonly object[] }
    expect(keys.map((key) => Object.keys(key).toSorted())).toEqual([
      ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
    ])
  })

  it('has no page that signs out: the button is on another one', async () => {
    for (const method of ['GET', 'POST']) {
      const answer = await askAsProgram(worldWithApps(), {
        method,
        path: '/oidc/apps/end_session?post_logout_redirect_uri=https://evil.example',
      })
      expect([answer.status, answer.headers['location']]).toEqual([303, '/login'])
    }
  })

  it('is nothing at other paths and methods', async () => {
    const world = worldWithApps()
    for (const [method, path, status] of [
      ['GET', 'token', 405],
      ['POST', 'authorize', 405],
      ['DELETE', 'keys', 405],
      ['GET', 'other', 404],
      ['GET', 'constructor', 404],
    ] as const)
      expect((await askAsProgram(world, { method, path: `/oidc/apps/${path}` })).status).toBe(
        status,
      )
  })
})
