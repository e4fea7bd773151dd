import { describe, expect, test } from 'vitest'
import type { OidcProvider } from '../../../../../src/api/config.gen.ts'
import {
  type ForgedProvider,
  startForgedProvider,
} from '../../../../support/oidc/forged-provider.ts'
import { beginAt, NO_END, providerFor, SECRETS, signIn } from '../../../../support/oidc/sign-in.ts'

const begun = async (forger: ForgedProvider, settings: OidcProvider = {}) => {
  const url = await beginAt(providerFor(forger.issuer, settings))
  return { address: `${url.origin}${url.pathname}`, ...Object.fromEntries(url.searchParams) }
}

const tokenRequest = ({ requests }: ForgedProvider) =>
  requests.find(({ path }) => path === '/token') ?? expect.fail('no request for tokens')

describe('the address that a browser is sent to', () => {
  test('has state, nonce and the S256 challenge of PKCE (25.2, 25.6)', async () => {
    const forger = await startForgedProvider()
    expect(await begun(forger)).toEqual({
      address: `${forger.issuer}/authorize`,
      client_id: 'platform',
      response_type: 'code',
      redirect_uri: 'https://platform.example.com/auth/oidc/callback',
      scope: 'openid email profile',
      state: SECRETS.state,
      nonce: SECRETS.nonce,
      code_challenge: 'BmQPfphfkBl-Xt_mTRGPP28dzTg-_OUe_yFH4-kbV5s',
      code_challenge_method: 'S256',
    })
  })

  test.each<{ name: string; settings: OidcProvider; parameters: object }>([
    {
      name: 'the scopes of the settings, and openid',
      settings: { scopes: ['groups', 'openid'] },
      parameters: { scope: 'openid groups' },
    },
    {
      name: 'the default scopes where there are none',
      settings: { scopes: [] },
      parameters: { scope: 'openid email profile' },
    },
    {
      name: 'prompt=consent with offline_access',
      settings: { scopes: ['offline_access'] },
      parameters: { scope: 'openid offline_access', prompt: 'consent' },
    },
    {
      name: 'redirectURI as it is',
      settings: { redirectURI: 'https://Platform.example.com:443/auth/oidc/callback' },
      parameters: { redirect_uri: 'https://Platform.example.com:443/auth/oidc/callback' },
    },
  ])('has $name (25.2, 25.6)', async ({ settings, parameters }) => {
    expect(await begun(await startForgedProvider(), settings)).toMatchObject(parameters)
  })

  test('keeps the parameters of the provider, and puts ours in their place (25.6)', async () => {
    const forger = await startForgedProvider()
    forger.discovery = { authorization_endpoint: `${forger.issuer}/authorize?tenant=7&state=evil` }
    const { searchParams } = await beginAt(providerFor(forger.issuer))
    expect(searchParams.getAll('tenant')).toEqual(['7'])
    expect(searchParams.getAll('state')).toEqual([SECRETS.state])
  })
})

describe('a request for tokens', () => {
  test('has code, verifier and the redirect URI of the first half, as it is (25.2, 25.6)', async () => {
    const forger = await startForgedProvider()
    const redirectURI = 'https://Platform.example.com:443/auth/oidc/callback'
    await signIn(forger, { redirectURI })
    expect(Object.fromEntries(tokenRequest(forger).form)).toEqual({
      grant_type: 'authorization_code',
      code: 'a code',
      code_verifier: SECRETS.verifier,
      redirect_uri: redirectURI,
    })
  })

  const basic = `Basic ${Buffer.from('platform:a+secret').toString('base64')}`
  test.each<{ name: string; methods: unknown; settings: OidcProvider; sent: object }>([
    {
      name: 'in the header where discovery is silent',
      methods: undefined,
      settings: {},
      sent: { authorization: basic, secret: null },
    },
    {
      name: 'in the header where discovery lists it',
      methods: ['client_secret_post', 'client_secret_basic'],
      settings: {},
      sent: { authorization: basic, secret: null },
    },
    {
      name: 'in the form where discovery lists the header not',
      methods: ['client_secret_post'],
      settings: {},
      sent: { authorization: undefined, secret: 'a secret' },
    },
    {
      name: 'nowhere where there is none',
      methods: undefined,
      settings: { clientSecret: '' },
      sent: { authorization: undefined, secret: null },
    },
  ])('has the secret $name (25.6)', async ({ methods, settings, sent }) => {
    const forger = await startForgedProvider()
    forger.discovery = { token_endpoint_auth_methods_supported: methods }
    await signIn(forger, settings)
    const { headers, form } = tokenRequest(forger)
    expect({ authorization: headers.authorization, secret: form.get('client_secret') }).toEqual(
      sent,
    )
  })

  test.each([
    { secret: 'gloas-a_b.c~d*e', sent: 'platform:gloas-a_b.c~d*e' },
    { secret: 'a:b+c d/e%f=ä', sent: 'platform:a%3Ab%2Bc+d%2Fe%25f%3D%C3%A4' },
  ])('has secret $secret in the header as forms have it (25.6)', async ({ secret, sent }) => {
    const forger = await startForgedProvider()
    await signIn(forger, { clientSecret: secret })
    const { authorization = '' } = tokenRequest(forger).headers
    expect(Buffer.from(authorization.slice('Basic '.length), 'base64').toString()).toBe(sent)
  })

  test('has the resource of the settings, else none (25.6)', async () => {
    const forger = await startForgedProvider()
    await signIn(forger, { resource: 'https://api.example.com' })
    expect(tokenRequest(forger).form.get('resource')).toBe('https://api.example.com')
    const other = await startForgedProvider()
    await signIn(other)
    expect(tokenRequest(other).form.has('resource')).toBe(false)
  })
})

describe('the tokens of a sign-in', () => {
  test('are kept for refreshes and for the end of the session (25.4)', async () => {
    const forger = await startForgedProvider()
    forger.token = { refresh_token: 'a refresh token' }
    const { tokens } = await signIn(forger)
    expect(tokens).toMatchObject({
      accessToken: 'an access token',
      refreshToken: 'a refresh token',
    })
    expect(tokens.idToken?.split('.')).toHaveLength(3)
    const without = await signIn(await startForgedProvider())
    expect(without.tokens.refreshToken).toBeNull()
  })

  test('are refused where one has more than 64 KiB', async () => {
    const forger = await startForgedProvider()
    forger.token = { refresh_token: 'x'.repeat(65_537) }
    await expect(signIn(forger)).rejects.toMatchObject({ reason: 'provider_answer' })
  })
})

describe('settings that cannot be used', () => {
  test.each<{ name: string; settings: OidcProvider }>([
    { name: 'an issuer without TLS', settings: { issuerUrl: 'http://idp.example.com' } },
    { name: 'an issuer without a scheme', settings: { issuerUrl: 'idp' } },
    { name: 'an issuer with a query', settings: { issuerUrl: 'https://idp.example.com/?a' } },
    { name: 'an issuer with a fragment', settings: { issuerUrl: 'https://idp.example.com/#a' } },
    { name: 'an issuer with a password', settings: { issuerUrl: 'https://a:b@idp.example.com' } },
    { name: 'no client', settings: { clientId: '' } },
    { name: 'a redirect URI without a host', settings: { redirectURI: '/auth' } },
  ])('$name is refused at each use (25.5)', async ({ settings }) => {
    const provider = providerFor('https://idp.example.com', settings)
    await expect(provider.begin(SECRETS, NO_END)).rejects.toMatchObject({
      reason: 'provider_unusable',
    })
    expect(await provider.check(NO_END)).toMatchObject({
      fault: expect.stringMatching(/ (?:must be|is absent)/),
    })
    expect(await provider.endSession(null, NO_END)).toBeNull()
  })
})

describe('the end of a session', () => {
  test.each<{ name: string; settings: OidcProvider; idToken: string | null; parameters: object }>([
    {
      name: 'has client, hint and postLogoutRedirectURI',
      settings: { postLogoutRedirectURI: 'https://platform.example.com/bye' },
      idToken: 'e30.e30.x',
      parameters: {
        client_id: 'platform',
        id_token_hint: 'e30.e30.x',
        post_logout_redirect_uri: 'https://platform.example.com/bye',
      },
    },
    {
      name: 'has the client alone',
      settings: {},
      idToken: null,
      parameters: { client_id: 'platform' },
    },
  ])('$name (25.2)', async ({ settings, idToken, parameters }) => {
    const forger = await startForgedProvider()
    const url = await providerFor(forger.issuer, settings).endSession(idToken, NO_END)
    expect(url?.href.split('?')[0]).toBe(`${forger.issuer}/end`)
    expect(Object.fromEntries(url?.searchParams ?? [])).toEqual(parameters)
  })

  test('is nowhere where the provider names no address, or is away (25.2)', async () => {
    const forger = await startForgedProvider()
    forger.discovery = { end_session_endpoint: undefined }
    expect(await providerFor(forger.issuer).endSession(null, NO_END)).toBeNull()
    expect(await providerFor('http://127.0.0.1:1').endSession(null, NO_END)).toBeNull()
  })
})

test('a button has displayName, else type, else the host of the provider (25.2)', () => {
  const issuer = 'https://idp.example.com'
  expect(providerFor(issuer, { type: 'Okta' }, { displayName: 'Staff' }).label).toBe('Staff')
  expect(providerFor(issuer, { type: 'Okta' }).label).toBe('Okta')
  expect(providerFor(issuer).label).toBe('OpenID Connect (idp.example.com)')
})
