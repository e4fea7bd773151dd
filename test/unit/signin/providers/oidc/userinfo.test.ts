import { describe, expect, test } from 'vitest'
import { identityOf, withUserinfo } from '../../../../../src/signin/providers/oidc/claims.ts'
import { startForgedProvider } from '../../../../support/oidc/forged-provider.ts'
import { signIn } from '../../../../support/oidc/sign-in.ts'

describe('the claims of userinfo', () => {
  test('replace claims of the ID token, but not the ones that bind it (25.6)', () => {
    const fixed = { iss: 'i', sub: 's', aud: 'a', azp: 'z', nonce: 'n', exp: 1, iat: 2 }
    const other = { iss: 'x', sub: 'x', aud: 'x', azp: 'x', nonce: 'x', exp: 9, iat: 9 }
    const found = withUserinfo(
      { ...fixed, name: 'old', kept: 1 },
      { ...other, name: 'new', added: 2 },
      {},
    )
    expect(found).toEqual({ ...fixed, name: 'new', kept: 1, added: 2 })
  })

  test.each([
    {
      name: 'an address of userinfo is not verified by the ID token',
      token: { email: 'ada@example.com', email_verified: true },
      userinfo: { email: 'eve@example.com' },
      expected: { email: 'eve@example.com', emailVerified: false },
    },
    {
      name: 'an address of the ID token is not verified by userinfo',
      token: { email: 'eve@example.com', email_verified: false },
      userinfo: { email_verified: true },
      expected: { email: 'eve@example.com', emailVerified: false },
    },
    {
      name: 'an address of userinfo is verified beside it',
      token: { email: 'old@example.com', email_verified: false },
      userinfo: { email: 'ada@example.com', email_verified: true },
      expected: { email: 'ada@example.com', emailVerified: true },
    },
  ])('$name (25.6, SC)', ({ token, userinfo, expected }) => {
    const claims = withUserinfo({ iss: 'i', sub: 's', ...token }, userinfo, {})
    expect(identityOf(claims, {})).toMatchObject(expected)
  })
})

describe('setting getUserInfo', () => {
  test('reads userinfo with the access token, else it is not read (25.6)', async () => {
    const forger = await startForgedProvider()
    forger.userinfo = { preferred_username: 'countess', groups: ['royal'] }
    expect(await signIn(forger)).toMatchObject({ username: 'ada' })
    expect(await signIn(forger, { getUserInfo: true })).toMatchObject({
      username: 'countess',
      groups: [{ name: 'royal' }],
    })
    const [asked, ...more] = forger.requests.filter(({ path }) => path === '/userinfo')
    expect([asked?.headers.authorization, more]).toEqual(['Bearer an access token', []])
  })

  test.each<{
    name: string
    userinfo?: object
    answer?: { status?: number; type?: string; body: string }
    reason: string
  }>([
    { name: 'of another person', userinfo: { sub: 'grace-1' }, reason: 'provider_answer' },
    { name: 'without a person', userinfo: { sub: undefined }, reason: 'provider_answer' },
    { name: 'in HTML', answer: { type: 'text/html', body: '<html>' }, reason: 'provider_answer' },
    { name: 'that is a list', answer: { body: '[]' }, reason: 'provider_answer' },
    {
      name: 'that is refused',
      answer: { status: 401, body: '{"error":"invalid_token"}' },
      reason: 'provider_answer',
    },
    {
      name: 'that does not come',
      answer: { status: 500, body: '{}' },
      reason: 'provider_unreachable',
    },
    {
      name: 'nested without end',
      answer: { body: `{"sub":"ada-1","x":${'['.repeat(100_000)}` },
      reason: 'provider_answer',
    },
  ])('refuses userinfo $name (25.6, SB)', async ({ userinfo, answer, reason }) => {
    const forger = await startForgedProvider()
    forger.userinfo = { ...userinfo }
    if (answer) forger.answers.set('/userinfo', answer)
    await expect(signIn(forger, { getUserInfo: true })).rejects.toMatchObject({ reason })
  })

  test('refuses a provider that has no userinfo endpoint (25.6)', async () => {
    const forger = await startForgedProvider()
    forger.discovery = { userinfo_endpoint: undefined }
    await expect(signIn(forger, { getUserInfo: true })).rejects.toMatchObject({
      reason: 'provider_answer',
      because: expect.stringContaining('lacks an endpoint'),
    })
  })
})
