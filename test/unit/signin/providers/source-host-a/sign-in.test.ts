/** @module-tag no-retry */
// Signing in at GitHub, against a stand-in (contract 25.6 "sourceHostA").
import { describe, expect, test } from 'vitest'
import type { SourceHostAProvider } from '../../../../../src/api/config.gen.ts'
import { beginAt, SECRETS } from '../../../../support/oidc/sign-in.ts'
import { HOST_CLIENT, hostAccount } from '../../../../support/providers/source-host-a.ts'
import {
  finishAt,
  hostOfTest,
  providerAt,
  signInAt,
} from '../../../../support/providers/source-host-a-sign-in.ts'

const begunAt = async (url: string, settings: SourceHostAProvider = {}) => {
  const begun = await beginAt(providerAt({ url }, settings))
  return {
    address: `${begun.origin}${begun.pathname}`,
    ...Object.fromEntries(begun.searchParams),
  }
}

describe('the address that a browser is sent to', () => {
  test('has state, the S256 challenge of PKCE and both scopes (25.2, 25.6)', async () => {
    expect(await begunAt('https://github.example')).toEqual({
      address: 'https://github.example/login/oauth/authorize',
      client_id: HOST_CLIENT.clientId,
      response_type: 'code',
      redirect_uri: 'https://platform.example.com/auth/sourceHostA/callback',
      scope: 'user:email read:org',
      state: SECRETS.state,
      code_challenge: 'BmQPfphfkBl-Xt_mTRGPP28dzTg-_OUe_yFH4-kbV5s',
      code_challenge_method: 'S256',
    })
  })

  test.each<{ name: string; settings: SourceHostAProvider; parameters: object }>([
    {
      name: 'redirectURI as it is',
      settings: { redirectURI: 'https://Platform.example.com:443/auth/sourceHostA/callback' },
      parameters: { redirect_uri: 'https://Platform.example.com:443/auth/sourceHostA/callback' },
    },
    {
      name: 'the host of hostName',
      settings: { hostName: 'GHE.example.com:8443' },
      parameters: { address: 'https://ghe.example.com:8443/login/oauth/authorize' },
    },
    {
      name: 'no host of an empty hostName',
      settings: { hostName: '' },
      parameters: { address: 'https://github.example/login/oauth/authorize' },
    },
  ])('has $name (25.2, 25.6)', async ({ settings, parameters }) => {
    expect(await begunAt('https://github.example', settings)).toMatchObject(parameters)
  })
})

describe('a person', () => {
  test('has login, numeric id and the API address in the subject, and the access token is kept (24.3, 25.6)', async () => {
    const host = await hostOfTest()
    const { tokens, ...person } = await signInAt(host)
    expect(person).toEqual({
      subject: `${host.url}/api/v3#583231`,
      username: 'ada',
      displayName: 'Ada Lovelace',
      email: 'ada@example.com',
      emailVerified: true,
      userId: '583231',
      preferredUsername: 'ada',
      extraClaims: {},
      groups: [],
      groupsPrefix: '',
    })
    expect(tokens).toEqual({
      accessToken: expect.stringMatching(/^gho_/) as unknown,
      refreshToken: null,
      idToken: null,
    })
  })

  test('is asked for with the headers that GitHub demands, and the token goes to the API alone (25.6)', async () => {
    const host = await hostOfTest()
    host.account = hostAccount({ orgs: ['acme'] })
    await signInAt(host, { orgs: [{ name: 'acme' }] })
    const asked = host.requests.filter(({ path }) => path.startsWith('/api/'))
    expect(asked.map(({ path }) => path)).toEqual([
      '/api/v3/user',
      '/api/v3/user/emails',
      '/api/v3/user/orgs',
      '/api/v3/user/teams',
    ])
    for (const { headers } of asked) {
      expect(headers).toMatchObject({
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'management-operator',
        authorization: expect.stringMatching(/^Bearer gho_/) as unknown,
      })
    }
  })

  test('keeps the subject when the login or the spelling of the host changes, and not at another host (24.3, SC)', async () => {
    const [host, other] = [await hostOfTest(), await hostOfTest()]
    const { subject } = await signInAt(host)
    host.account = hostAccount({ login: 'ada-lovelace' })
    expect(await signInAt(host)).toMatchObject({ subject, username: 'ada-lovelace' })
    expect((await signInAt(other)).subject).not.toBe(subject)
  })

  const ADA = { email: 'ada@example.com', primary: true, verified: true }
  test.each<{ name: string; emails: readonly object[]; email: string | null }>([
    {
      name: 'the primary one among others',
      emails: [{ email: 'x@example.com', primary: false, verified: true }, ADA],
      email: 'ada@example.com',
    },
    { name: 'none that is not verified', emails: [{ ...ADA, verified: false }], email: null },
    {
      name: 'none that is verified by a text',
      emails: [{ ...ADA, verified: 'true' }],
      email: null,
    },
    { name: 'none that is not primary', emails: [{ ...ADA, primary: false }], email: null },
    { name: 'none where there is none', emails: [], email: null },
    { name: 'none that is a number', emails: [{ ...ADA, email: 7 }], email: null },
  ])(
    'has of e-mail addresses $name, never the public one (25.6, SC)',
    async ({ emails, email }) => {
      const host = await hostOfTest()
      host.account = hostAccount({ emails })
      expect(await signInAt(host)).toMatchObject({ email, emailVerified: email !== null })
    },
  )

  test.each<{ name: string; status?: number; body: string }>([
    { name: 'that comes with 403', status: 403, body: '{"login":"ada","id":583231}' },
    { name: 'that comes with 429', status: 429, body: '{"login":"ada","id":583231}' },
    { name: 'without an id', body: '{"login":"ada"}' },
    { name: 'whose id is a text', body: '{"login":"ada","id":"583231"}' },
    { name: 'whose id is not whole', body: '{"login":"ada","id":1.5}' },
    { name: 'whose id is beyond what numbers hold', body: '{"login":"ada","id":9007199254740993}' },
    { name: 'whose id is 0', body: '{"login":"ada","id":0}' },
    { name: 'without a login', body: '{"id":583231,"login":""}' },
    { name: 'whose login is a map', body: '{"id":583231,"login":{"a secret":1}}' },
    { name: 'that is a list', body: '[{"id":583231,"login":"ada"}]' },
    { name: 'in HTML', body: '<html>a secret' },
    { name: 'of 30,000 fields', body: JSON.stringify(Array.from({ length: 30_000 }, () => 1)) },
  ])('$name is refused, and not quoted (25.5, SF)', async ({ status = 200, body }) => {
    const host = await hostOfTest()
    host.answers.set('/api/v3/user', { status, body })
    const refused = signInAt(host)
    await expect(refused).rejects.toMatchObject({ reason: 'provider_answer' })
    await expect(refused).rejects.not.toThrow(/secret/)
  })

  test.each(['/user', '/user/emails', '/user/orgs', '/user/teams'])(
    'whose token %s takes no more is refused as at a refresh, and not quoted (25.5, 25.7, SF)',
    async (path) => {
      const host = await hostOfTest()
      host.account = hostAccount({ orgs: ['acme'] })
      host.answers.set(`/api/v3${path}`, { status: 401, body: '{"message":"a secret"}' })
      const refused = signInAt(host, { orgs: [{ name: 'acme' }] })
      await expect(refused).rejects.toMatchObject({
        reason: 'provider_refused',
        detail: 'invalid_grant',
      })
      await expect(refused).rejects.not.toThrow(/secret/)
    },
  )

  test('has a display name that is cut at 256 characters, or none', async () => {
    const host = await hostOfTest()
    host.account = hostAccount({ name: 'x'.repeat(300) })
    expect((await signInAt(host)).displayName).toBe('x'.repeat(256))
    host.account = hostAccount({ name: null })
    expect((await signInAt(host)).displayName).toBeNull()
  })
})

describe('orgs and teams', () => {
  test('admit a member, with the groups that count (25.6)', async () => {
    const host = await hostOfTest()
    const teams = [
      ['acme', 'site-ops', 'Site Ops'],
      ['acme', 'dev', 'dev'],
      ['evil', 'site-ops', 'Site Ops'],
    ] as const
    host.account = hostAccount({ orgs: ['acme', 'evil'], teams })
    const { groups } = await signInAt(host, { orgs: [{ name: 'acme', teams: ['Site Ops'] }] })
    expect(groups).toEqual([{ name: 'acme:site-ops', displayName: 'Site Ops' }])
  })

  test('refuse whom /user/orgs does not show there, as behind SAML, whatever the teams (25.6, SD)', async () => {
    const host = await hostOfTest()
    host.account = hostAccount({ teams: [['acme', 'sre', 'sre']] })
    await expect(signInAt(host, { orgs: [{ name: 'acme' }] })).rejects.toMatchObject({
      reason: 'groups_required',
      detail: 'orgs',
    })
  })

  test('are not asked for where the setting is absent or empty, and give no groups (25.6)', async () => {
    const host = await hostOfTest()
    host.account = hostAccount({ orgs: ['acme'], teams: [['acme', 'sre', 'sre']] })
    for (const settings of [{}, { orgs: [] }])
      expect((await signInAt(host, settings)).groups).toEqual([])
    expect(host.requests.map(({ path }) => path)).not.toContain('/api/v3/user/orgs')
  })
})

describe('the callback', () => {
  test.each<{ name: string; parameters: Readonly<Record<string, string>>; refusal: object }>([
    {
      name: 'with an error',
      parameters: { error: 'access_denied', error_description: 'a secret' },
      refusal: { reason: 'provider_refused', detail: 'access_denied' },
    },
    {
      name: 'with an error in HTML',
      parameters: { error: '<b>a secret' },
      refusal: { reason: 'provider_refused', detail: null },
    },
    { name: 'without a code', parameters: { code: '' }, refusal: { reason: 'provider_answer' } },
    {
      name: 'with the state of another attempt',
      parameters: { state: 'another' },
      refusal: { reason: 'provider_answer' },
    },
    {
      name: 'with a code that GitHub does not know',
      parameters: { code: 'guessed' },
      refusal: { reason: 'provider_refused', detail: 'bad_verification_code' },
    },
  ])('$name is refused, and not quoted (25.3, 25.5, SA)', async ({ parameters, refusal }) => {
    const host = await hostOfTest()
    const refused = finishAt(host, providerAt(host), parameters)
    await expect(refused).rejects.toMatchObject(refusal)
    await expect(refused).rejects.not.toThrow(/secret/)
  })

  test('with the code of another browser fails for its verifier (25.3, SA)', async () => {
    const host = await hostOfTest()
    const { searchParams } = await beginAt(providerAt(host))
    searchParams.set('code_challenge', 'x'.repeat(43))
    const code = host.consent(searchParams)
    await expect(finishAt(host, providerAt(host), { code })).rejects.toMatchObject({
      detail: 'bad_verification_code',
    })
  })
})

describe('the request for a token', () => {
  test('has client, secret, code, verifier and redirect URI, and asks for JSON (25.6)', async () => {
    const host = await hostOfTest()
    await signInAt(host)
    const [request] = host.requests
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      grant_type: 'authorization_code',
      client_id: HOST_CLIENT.clientId,
      client_secret: HOST_CLIENT.clientSecret,
      code: expect.stringMatching(/^[0-9a-f]{20}$/) as unknown,
      redirect_uri: 'https://platform.example.com/auth/sourceHostA/callback',
      code_verifier: SECRETS.verifier,
    })
    expect(request?.headers.accept).toBe('application/json')
  })

  test.each<{ name: string; settings: SourceHostAProvider; because: RegExp }>([
    { name: 'clientId', settings: { clientId: 'unknown' }, because: /clientId/ },
    {
      name: 'clientSecret',
      settings: { clientSecret: 'wrong' },
      because: /incorrect_client_credentials/,
    },
  ])('with a wrong $name says that the settings are unusable (25.5)', async (row) => {
    const refused = signInAt(await hostOfTest(), row.settings)
    await expect(refused).rejects.toMatchObject({ reason: 'provider_unusable' })
    await expect(refused).rejects.toThrow(row.because)
  })

  const TOKEN = { access_token: 'a-secret', token_type: 'bearer' }
  test.each<{ name: string; status?: number; body: string; reason: string }>([
    {
      name: 'an error of 200 that is no code',
      body: '{"error":{"a secret":1}}',
      reason: 'provider_refused',
    },
    {
      name: 'an error beside a token',
      body: JSON.stringify({ ...TOKEN, error: 'slow_down' }),
      reason: 'provider_refused',
    },
    { name: 'no token', body: '{"token_type":"bearer"}', reason: 'provider_answer' },
    {
      name: 'a token of another type',
      body: JSON.stringify({ ...TOKEN, token_type: 'mac' }),
      reason: 'provider_answer',
    },
    {
      name: 'a token that ends a header',
      body: JSON.stringify({ ...TOKEN, access_token: 'a\r\nsecret: 1' }),
      reason: 'provider_answer',
    },
    {
      name: 'a token of 5,000 characters',
      body: JSON.stringify({ ...TOKEN, access_token: 'x'.repeat(5000) }),
      reason: 'provider_answer',
    },
    { name: 'a form', body: 'access_token=a-secret&token_type=bearer', reason: 'provider_answer' },
    { name: 'a list', body: '["a secret"]', reason: 'provider_answer' },
    { name: '403', status: 403, body: '{"message":"a secret"}', reason: 'provider_answer' },
    { name: '500', status: 500, body: 'a secret', reason: 'provider_unreachable' },
  ])('that is answered with $name is refused, and not quoted (25.5, SF)', async (row) => {
    const { status = 200, body, reason } = row
    const host = await hostOfTest()
    host.answers.set('/login/oauth/access_token', { status, body })
    const refused = signInAt(host)
    await expect(refused).rejects.toMatchObject({ reason })
    await expect(refused).rejects.not.toThrow(/secret/)
    expect(host.requests).toHaveLength(1)
  })
})
