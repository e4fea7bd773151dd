// A sign-in at oidc-provider, which is certified: what a forger in this suite would not notice.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClientMetadata } from 'oidc-provider'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { OidcProvider } from '../../../../../src/api/config.gen.ts'
import { GrantEnded } from '../../../../../src/domain/signin/refusals.ts'
import { serverPair } from '../../../../support/certificate-builder.ts'
import { chooseAt, startIdentityProvider } from '../../../../support/oidc/identity-provider.ts'
import { accountOf, askAgain } from '../../../../support/oidc/refresh.ts'
import { beginAt, NO_END, providerFor, SECRETS } from '../../../../support/oidc/sign-in.ts'

const CALLBACK = 'https://platform.example.com/auth/oidc/callback'

const client = (fields: Partial<ClientMetadata>): ClientMetadata => ({
  client_id: 'platform',
  client_secret: 'a secret of the client',
  redirect_uris: [CALLBACK],
  post_logout_redirect_uris: ['https://platform.example.com/login'],
  grant_types: ['authorization_code', 'refresh_token'],
  ...fields,
})

const SETTINGS: OidcProvider = {
  clientSecret: 'a secret of the client',
  scopes: ['profile', 'email', 'groups'],
}

/** Signs in as a person. */
async function signedIn(issuer: string, settings: OidcProvider, person = 'ada', filesDir = '') {
  const provider = providerFor(issuer, { ...SETTINGS, ...settings }, { filesDir })
  const start = await beginAt(provider)
  const { searchParams: parameters } = await chooseAt(start, person, CALLBACK)
  const identity = await provider.finish({ parameters }, SECRETS, NO_END)
  return { provider, parameters, identity }
}

describe('a person of oidc-provider', () => {
  test.each<{ name: string; client: Partial<ClientMetadata>; settings: OidcProvider }>([
    { name: 'a client whose secret is in the header', client: {}, settings: {} },
    {
      name: 'a public client',
      client: { token_endpoint_auth_method: 'none', client_secret: undefined },
      settings: { clientSecret: '' },
    },
    { name: 'userinfo', client: {}, settings: { getUserInfo: true } },
  ])('signs in by $name (25.6)', async ({ client: fields, settings }) => {
    const { client_secret: secret, ...others } = client(fields)
    const issuer = await startIdentityProvider([secret ? client(fields) : others])
    const { identity, parameters } = await signedIn(issuer, settings)
    expect(parameters.get('iss')).toBe(issuer)
    expect(identity).toMatchObject({
      subject: `${issuer}#ada`,
      username: 'ada',
      displayName: 'Ada Lovelace',
      email: 'ada@example.com',
      emailVerified: true,
      groups: [{ name: 'sre' }, { name: 'developers' }],
      tokens: { refreshToken: null },
    })
  })

  test('signs in over TLS, by a CA of its own (25.6)', async () => {
    const pair = serverPair('idp')
    const filesDir = await mkdtemp(join(tmpdir(), 'oidc-'))
    onTestFinished(() => rm(filesDir, { recursive: true }))
    const caFile = join(filesDir, 'ca.crt')
    await writeFile(caFile, pair.caPem)
    const issuer = await startIdentityProvider([client({})], { tls: pair })
    const { identity } = await signedIn(issuer, { caFile }, 'grace', filesDir)
    expect(identity).toMatchObject({ username: 'grace', groups: [{ name: 'developers' }] })
  })

  test('gives a refresh token with offline_access (25.6)', async () => {
    const issuer = await startIdentityProvider([client({})])
    const { identity } = await signedIn(issuer, { scopes: ['profile', 'offline_access'] })
    expect(identity.tokens.refreshToken).toMatch(/./)
  })

  test('cannot sign in twice by one code (25.6, SA)', async () => {
    const issuer = await startIdentityProvider([client({})])
    const { provider, parameters } = await signedIn(issuer, {})
    await expect(provider.finish({ parameters }, SECRETS, NO_END)).rejects.toMatchObject({
      reason: 'provider_refused',
      detail: 'invalid_grant',
    })
  })

  test.each([
    {
      name: 'verifier',
      secrets: { ...SECRETS, verifier: 'other'.repeat(9) },
      reason: 'provider_refused',
    },
    { name: 'nonce', secrets: { ...SECRETS, nonce: 'other' }, reason: 'provider_answer' },
    { name: 'state', secrets: { ...SECRETS, state: 'other' }, reason: 'provider_answer' },
  ])('cannot sign in with the $name of another attempt (25.6, SA)', async ({ secrets, reason }) => {
    const issuer = await startIdentityProvider([client({})])
    const provider = providerFor(issuer, SETTINGS)
    const start = await beginAt(provider)
    const { searchParams: parameters } = await chooseAt(start, 'ada', CALLBACK)
    await expect(provider.finish({ parameters }, secrets, NO_END)).rejects.toMatchObject({ reason })
  })

  test('cannot sign in by a client with a wrong secret (25.5)', async () => {
    const issuer = await startIdentityProvider([client({})])
    await expect(signedIn(issuer, { clientSecret: 'another' })).rejects.toMatchObject({
      reason: 'provider_unusable',
      because: 'the token endpoint says invalid_client',
    })
  })

  test('ends the session at an address of the provider (25.2)', async () => {
    const issuer = await startIdentityProvider([client({})])
    const settings = { postLogoutRedirectURI: 'https://platform.example.com/login' }
    const { provider, identity } = await signedIn(issuer, settings)
    const end = await provider.endSession(identity.tokens.idToken, NO_END)
    expect(end?.href.split('?')[0]).toBe(`${issuer}/session/end`)
    expect(await provider.check(NO_END)).toEqual({ fault: null, warnings: [] })
  })
})

describe('a person of oidc-provider, asked for again,', () => {
  const SCOPES = ['profile', 'email', 'groups', 'offline_access']

  test.each([{ getUserInfo: false }, { getUserInfo: true }])(
    'is the same, by a refresh token that lasts, with %j (25.7)',
    async (settings) => {
      const issuer = await startIdentityProvider([client({})])
      const { provider, identity } = await signedIn(issuer, { scopes: SCOPES, ...settings })
      const { outcome, kept } = await askAgain(provider, accountOf(identity))
      const { accessToken, idToken, refreshToken } = identity.tokens
      expect(outcome).toEqual({
        ...identity,
        tokens: { accessToken: expect.any(String), idToken: expect.any(String), refreshToken },
      })
      expect(kept).toEqual([{ accessToken: expect.any(String), idToken, refreshToken }])
      expect(kept[0]?.accessToken).not.toBe(accessToken)
    },
  )

  test('is gone where a token that was rotated away is used again, with all of its line (25.7)', async () => {
    const fields = client({ token_endpoint_auth_method: 'none' })
    const { client_secret: _, ...publicClient } = fields
    const issuer = await startIdentityProvider([publicClient])
    const settings = { clientSecret: '', scopes: SCOPES }
    const { provider, identity } = await signedIn(issuer, settings)
    const first = accountOf(identity)
    const { kept } = await askAgain(provider, first)
    const [tokens = first.tokens] = kept
    expect(tokens.refreshToken).not.toBe(first.tokens.refreshToken)
    const second = await askAgain(provider, { ...first, tokens })
    expect(second.outcome).toMatchObject({ subject: first.subject, groups: identity.groups })
    const replayed = await askAgain(provider, first)
    expect(replayed.outcome).toBeInstanceOf(GrantEnded)
    const [last = tokens] = second.kept
    expect((await askAgain(provider, { ...first, tokens: last })).outcome).toBeInstanceOf(
      GrantEnded,
    )
  })

  test('is not gone where the secret of the client has changed (25.7)', async () => {
    const issuer = await startIdentityProvider([client({})])
    const { identity } = await signedIn(issuer, { scopes: SCOPES })
    const provider = providerFor(issuer, { ...SETTINGS, clientSecret: 'another' })
    expect((await askAgain(provider, accountOf(identity))).outcome).toMatchObject({
      reason: 'provider_unusable',
    })
  })
})
