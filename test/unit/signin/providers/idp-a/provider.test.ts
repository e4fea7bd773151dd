import { describe, expect, test } from 'vitest'
import type { IdpAProvider } from '../../../../../src/api/config.gen.ts'
import { NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import { idpA, signInAtA, startIdpA, withDirectory } from '../../../../support/providers/idp-a.ts'
import { parametersAt } from '../../../../support/providers/sign-in.ts'

describe('a person of Google', () => {
  test('is named by the verified e-mail, and has no groups of the token (24.3, 25.6)', async () => {
    const google = await startIdpA()
    const { tokens, ...identity } = await signInAtA(google)
    expect(identity).toEqual({
      subject: `${google.forger.issuer}#110169484474386276334`,
      username: 'ada@example.com',
      displayName: 'Ada Lovelace',
      email: 'ada@example.com',
      emailVerified: true,
      userId: '110169484474386276334',
      preferredUsername: null,
      extraClaims: {},
      groups: [],
      groupsPrefix: '',
    })
    expect(tokens.accessToken).toBe('an access token')
    expect(google.directory.requests).toEqual([])
  })

  test.each([{ email_verified: false }, { email_verified: undefined }, { email_verified: 'true' }])(
    'is refused with %j (25.6, SC)',
    async (claims) => {
      await expect(signInAtA(await startIdpA(), {}, claims)).rejects.toMatchObject({
        reason: 'name_refused',
      })
    },
  )

  test('has no name without an e-mail, whatever else is there (25.6)', async () => {
    const claims = { email: undefined, preferred_username: 'ada', nickname: 'ada' }
    expect(await signInAtA(await startIdpA(), {}, claims)).toMatchObject({ username: null })
  })

  test('is another one where the connector leads to another host (24.3, SC)', async () => {
    const subjects = [await signInAtA(await startIdpA()), await signInAtA(await startIdpA())]
    expect(new Set(subjects.map(({ subject }) => subject)).size).toBe(2)
  })
})

describe('setting hostedDomains', () => {
  const hostedDomains = ['example.com', 'example.org']

  test.each(['example.com', 'example.org'])('lets people of %s in (25.6)', async (hd) => {
    const found = await signInAtA(await startIdpA(), { hostedDomains }, { hd })
    expect(found).toMatchObject({ username: 'ada@example.com' })
  })

  test.each<{ name: string; settings?: IdpAProvider; hd: unknown }>([
    { name: 'without hd', hd: undefined },
    {
      name: 'without hd, which was in the request alone',
      settings: { hostedDomains: ['example.com'] },
      hd: undefined,
    },
    { name: 'of another domain', hd: 'evil.com' },
    { name: 'of a domain below', hd: 'sub.example.com' },
    { name: 'of a look-alike', hd: 'example.com.evil.com' },
    { name: 'whose hd is a list', hd: ['example.com'] },
    { name: 'whose hd is empty', hd: '' },
    { name: 'of any domain, where a domain is *', settings: { hostedDomains: ['*'] }, hd: 'a.b' },
  ])('refuses an account $name (25.6, SC)', async ({ settings = { hostedDomains }, hd }) => {
    await expect(signInAtA(await startIdpA(), settings, { hd })).rejects.toMatchObject({
      reason: 'domain_refused',
      detail: 'hostedDomains',
    })
  })
})

describe('the way to Google', () => {
  test.each<{ name: string; settings: IdpAProvider; parameters: object }>([
    {
      name: 'asks for a refresh token each time',
      settings: {},
      parameters: {
        scope: 'openid profile email',
        access_type: 'offline',
        prompt: 'consent',
        hd: undefined,
        redirect_uri: 'https://platform.example.com/auth/idpA/callback',
      },
    },
    {
      name: 'has the scopes of the settings, and openid',
      settings: { scopes: ['email'] },
      parameters: { scope: 'openid email' },
    },
    { name: 'has one domain', settings: { hostedDomains: ['a.b'] }, parameters: { hd: 'a.b' } },
    {
      name: 'has none of two domains',
      settings: { hostedDomains: ['a.b', 'c.d'] },
      parameters: { hd: undefined },
    },
    {
      name: 'has redirectURI as it is',
      settings: { redirectURI: 'https://P.example.com:443/auth/idpA/callback' },
      parameters: { redirect_uri: 'https://P.example.com:443/auth/idpA/callback' },
    },
  ])('$name (25.6)', async ({ settings, parameters }) => {
    const google = await startIdpA()
    const found = await parametersAt(idpA(google, settings))
    expect({ hd: undefined, ...found }).toMatchObject(parameters)
  })

  test('begins at a fixed issuer, whose discovery must name it (25.6)', async () => {
    const google = await startIdpA()
    expect(idpA(google)).toMatchObject({
      kind: 'idpA',
      label: `Google (${new URL(google.forger.issuer).host})`,
    })
    google.forger.discovery = { issuer: 'https://accounts.google.com' }
    await expect(idpA(google).begin(SECRETS, NO_END)).rejects.toMatchObject({
      reason: 'provider_answer',
      because: 'the discovery document names another issuer than its address',
    })
  })

  test.each<{ settings: IdpAProvider; fault: string }>([
    { settings: { groups: ['a@b.c'] }, fault: 'groups needs serviceAccountFilePath' },
    {
      settings: { serviceAccountFilePath: '/files/a.json' },
      fault: 'serviceAccountFilePath needs adminEmail',
    },
    { settings: { clientId: '' }, fault: 'clientId is absent' },
  ])('is closed where $fault (25.5, 25.6)', async ({ settings, fault }) => {
    const provider = idpA(await startIdpA(), settings)
    await expect(provider.begin(SECRETS, NO_END)).rejects.toMatchObject({
      reason: 'provider_unusable',
      because: fault,
    })
    expect(await provider.check(NO_END)).toMatchObject({ fault })
  })
})

const ADMITS_EVERYBODY = [expect.stringContaining('admits everybody')]

test.each<{ name: string; settings: IdpAProvider; directory?: true; warned: boolean }>([
  { name: 'neither domains nor groups', settings: {}, warned: true },
  { name: 'empty lists', settings: { hostedDomains: [], groups: [] }, warned: true },
  { name: 'a directory alone', settings: {}, directory: true, warned: true },
  { name: 'domains', settings: { hostedDomains: ['a.b'] }, warned: false },
  { name: 'groups', settings: { groups: ['a@b.c'] }, directory: true, warned: false },
])('SignInReady says whether $name admits everybody (25.6)', async (row) => {
  const google = await startIdpA()
  const settings = { ...row.settings, ...(row.directory ? withDirectory(google) : {}) }
  expect(await idpA(google, settings).check(NO_END)).toEqual({
    fault: null,
    warnings: row.warned ? ADMITS_EVERYBODY : [],
  })
})
