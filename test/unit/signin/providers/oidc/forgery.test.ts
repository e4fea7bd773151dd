/** @module-tag no-retry */
import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type ForgedProvider,
  type ForgerKey,
  forgerKey,
  sharedKey,
  signed,
  startForgedProvider,
} from '../../../../support/oidc/forged-provider.ts'
import {
  callbackOf,
  goodToken,
  NO_END,
  providerFor,
  SECRETS,
  signIn,
} from '../../../../support/oidc/sign-in.ts'

let known: ForgerKey
let foreign: ForgerKey
beforeAll(async () => {
  known = await sharedKey('ES256')
  foreign = await forgerKey('ES256', 'ES256')
})

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** Claims whose times are seconds from now, as a row has them: it is made long before its test runs. */
const asOfNow = ({ exp, iat, ...claims }: Readonly<Record<string, unknown>>) => ({
  ...claims,
  ...(typeof exp === 'number' ? { exp: nowSeconds() + exp } : {}),
  ...(typeof iat === 'number' ? { iat: nowSeconds() + iat } : {}),
})

/** Signs in with an ID token as it is. */
async function signInWith(forger: ForgedProvider, idToken: string) {
  forger.token = { id_token: idToken }
  return providerFor(forger.issuer).finish(callbackOf(), SECRETS, NO_END)
}

describe('an ID token', () => {
  test.each(['ES256', 'ES384', 'ES512', 'RS256', 'RS512', 'PS256', 'PS384', 'EdDSA'])(
    'is accepted with a signature of %s (25.6)',
    async (alg) => {
      const forger = await startForgedProvider()
      const key = await sharedKey(alg)
      forger.keys = [key.jwk]
      const token = await signed(forger.claims(SECRETS.nonce), key, { alg, kid: alg })
      expect(await signInWith(forger, token)).toMatchObject({ userId: 'ada-1' })
    },
  )

  const forgeries: readonly {
    readonly name: string
    readonly token: (forger: ForgedProvider) => Promise<string> | string
  }[] = [
    {
      name: 'without a signature (alg none)',
      token: ({ claims }) => `${encoded({ alg: 'none' })}.${encoded(claims(SECRETS.nonce))}.`,
    },
    {
      name: 'whose signature is empty',
      token: async (forger) => `${(await goodToken(forger)).split('.').slice(0, 2).join('.')}.`,
    },
    {
      name: 'whose claims were changed',
      token: async (forger) => {
        const [header, , signature] = (await goodToken(forger)).split('.')
        const claims = { ...forger.claims(SECRETS.nonce), sub: 'grace-1' }
        return `${header}.${encoded(claims)}.${signature}`
      },
    },
    {
      name: 'with an HMAC by the public key',
      token: ({ claims }) => {
        const input = `${encoded({ alg: 'HS256', kid: 'ES256' })}.${encoded(claims(SECRETS.nonce))}`
        const mac = createHmac('sha256', JSON.stringify(known.jwk)).update(input)
        return `${input}.${mac.digest('base64url')}`
      },
    },
    {
      name: 'with an HMAC by the client secret',
      token: ({ claims }) => {
        const input = `${encoded({ alg: 'HS256' })}.${encoded(claims(SECRETS.nonce))}`
        return `${input}.${createHmac('sha256', 'a secret').update(input).digest('base64url')}`
      },
    },
    {
      name: 'of a foreign key under a known kid',
      token: ({ claims }) => signed(claims(SECRETS.nonce), foreign, { alg: 'ES256', kid: 'ES256' }),
    },
    {
      name: 'of a foreign key without a kid',
      token: ({ claims }) => signed(claims(SECRETS.nonce), foreign, { alg: 'ES256' }),
    },
    {
      name: 'that brings its key (jwk)',
      token: ({ claims }) =>
        signed(claims(SECRETS.nonce), foreign, { alg: 'ES256', kid: 'ES256', jwk: foreign.jwk }),
    },
    {
      name: 'that says where its key is (jku, x5u)',
      token: ({ claims, issuer }) =>
        signed(claims(SECRETS.nonce), foreign, {
          alg: 'ES256',
          jku: `${issuer}/foreign`,
          x5u: `${issuer}/foreign`,
        }),
    },
    {
      name: 'with a header that must be understood (crit)',
      token: async ({ claims }) => {
        const good = await signed(claims(SECRETS.nonce), known, { alg: 'ES256', kid: 'ES256' })
        const [, body, signature] = good.split('.')
        return `${encoded({ alg: 'ES256', kid: 'ES256', crit: ['x'], x: 1 })}.${body}.${signature}`
      },
    },
    { name: 'of two parts', token: async (forger) => (await goodToken(forger)).slice(0, -90) },
    { name: 'of five parts', token: () => 'e30.e30.e30.e30.e30' },
    { name: 'whose claims are a list', token: () => signed('[]', known, { alg: 'ES256' }) },
    {
      name: 'whose claims are nested without end',
      token: () => signed('['.repeat(40_000), known, { alg: 'ES256', kid: 'ES256' }),
    },
    {
      name: 'of more than 64 KiB',
      token: (forger) => goodToken(forger, { padding: 'x'.repeat(66_000) }),
    },
  ]
  test.each(forgeries)('$name is refused (25.6, SB)', async ({ token }) => {
    const forger = await startForgedProvider()
    await expect(signInWith(forger, await token(forger))).rejects.toMatchObject({
      reason: 'provider_answer',
    })
    expect(forger.requests.map(({ path }) => path)).not.toContain('/foreign')
  })

  test('of very many parts is refused before all of them are read (25.6, SB)', async () => {
    const forger = await startForgedProvider()
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    await expect(signInWith(forger, '.'.repeat(65_000))).rejects.toMatchObject({
      reason: 'provider_answer',
    })
    expect(parse.mock.calls.length).toBeLessThan(100)
  })

  test('that the provider signed with a key for encryption is refused (25.6, SB)', async () => {
    const forger = await startForgedProvider()
    forger.keys = [{ ...known.jwk, use: 'enc' }]
    await expect(signIn(forger)).rejects.toMatchObject({ reason: 'provider_answer' })
  })

  const wrong: readonly {
    readonly name: string
    readonly claims: Record<string, unknown>
    readonly because: RegExp
  }[] = [
    {
      name: 'of another issuer',
      claims: { iss: 'https://other.example.com' },
      because: /a claim has another value: iss/,
    },
    {
      name: 'whose issuer has a slash more',
      claims: { iss: 'http://127.0.0.1/' },
      because: /a claim has another value: iss/,
    },
    {
      name: 'for another client',
      claims: { aud: 'other' },
      because: /a claim has another value: aud/,
    },
    {
      name: 'for other clients',
      claims: { aud: ['other', 'third'] },
      because: /a claim has another value: aud/,
    },
    {
      name: 'for two clients without azp',
      claims: { aud: ['platform', 'other'] },
      because: /a claim has another value: aud/,
    },
    {
      name: 'for two clients, asked for by the other',
      claims: { aud: ['platform', 'other'], azp: 'other' },
      because: /a claim has another value: azp/,
    },
    {
      name: 'for this client, asked for by another',
      claims: { azp: 'other' },
      because: /claim azp of the ID token/,
    },
    {
      name: 'of another attempt (nonce)',
      claims: { nonce: 'other' },
      because: /a claim has another value: nonce/,
    },
    { name: 'without a nonce', claims: { nonce: undefined }, because: /is wrong or absent/ },
    {
      name: 'whose nonce is a list',
      claims: { nonce: [SECRETS.nonce] },
      because: /a claim has another value: nonce/,
    },
    {
      name: 'that has expired',
      claims: { exp: nowSeconds() - 60 },
      because: /a time is past or ahead: exp/,
    },
    { name: 'without an end', claims: { exp: undefined }, because: /is wrong or absent/ },
    { name: 'whose end is a text', claims: { exp: '9999999999' }, because: /is wrong or absent/ },
    {
      name: 'from the future',
      claims: { iat: nowSeconds() + 600 },
      because: /claim iat of the ID token/,
    },
    { name: 'without a time', claims: { iat: undefined }, because: /is wrong or absent/ },
    {
      name: 'that is not valid yet',
      claims: { nbf: nowSeconds() + 600 },
      because: /a time is past or ahead: nbf/,
    },
    {
      name: 'of another access token (at_hash)',
      claims: { at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' },
      because: /claim at_hash of the ID token/,
    },
    { name: 'without a subject', claims: { sub: undefined }, because: /is wrong or absent/ },
    { name: 'whose subject is empty', claims: { sub: '' }, because: /claim sub is absent/ },
    { name: 'whose subject is a number', claims: { sub: 7 }, because: /is wrong or absent/ },
  ]
  test.each(wrong)('$name is refused (25.6, SB)', async ({ claims, because }) => {
    const forger = await startForgedProvider()
    await expect(signIn(forger, {}, claims)).rejects.toMatchObject({
      reason: 'provider_answer',
      because: expect.stringMatching(because),
    })
  })

  test.each([
    {
      name: 'for two clients, asked for by this one',
      claims: { aud: ['other', 'platform'], azp: 'platform' },
    },
    { name: 'that ended 20 seconds ago', claims: { exp: -20 } },
    { name: 'from 20 seconds ahead', claims: { iat: 20 } },
    {
      name: 'of this access token (at_hash)',
      claims: { at_hash: 'FPlcM-1UXiivOYozpUrp7Q' },
    },
  ])('$name is accepted (25.6)', async ({ claims }) => {
    const forger = await startForgedProvider()
    expect(await signIn(forger, {}, asOfNow(claims))).toMatchObject({ userId: 'ada-1' })
  })
})

describe('a callback', () => {
  const refusals: readonly {
    readonly name: string
    readonly parameters: Readonly<Record<string, string>>
    readonly refusal: object
  }[] = [
    {
      name: 'with another state',
      parameters: { state: 'other' },
      refusal: { reason: 'provider_answer' },
    },
    {
      name: 'of another provider (RFC 9207)',
      parameters: { iss: 'https://other.example.com' },
      refusal: { reason: 'provider_answer' },
    },
    {
      name: 'with an error',
      parameters: { error: 'access_denied', error_description: '<b>secret</b>' },
      refusal: { reason: 'provider_refused', detail: 'access_denied' },
    },
    {
      name: 'with an error in HTML',
      parameters: { error: '<script>' },
      refusal: { reason: 'provider_refused', detail: null },
    },
    { name: 'without a code', parameters: { code: '' }, refusal: { reason: 'provider_answer' } },
    {
      name: 'with a token',
      parameters: { id_token: 'e30.e30.e30' },
      refusal: { reason: 'provider_answer' },
    },
  ]
  test.each(refusals)('$name is refused (25.5, 25.6, SA)', async ({ parameters, refusal }) => {
    const forger = await startForgedProvider()
    forger.token = { id_token: await goodToken(forger) }
    const finished = providerFor(forger.issuer).finish(callbackOf(parameters), SECRETS, NO_END)
    await expect(finished).rejects.toMatchObject(refusal)
    await expect(finished).rejects.not.toThrow(/secret|script|other/)
    expect(forger.requests.map(({ path }) => path)).not.toContain('/token')
  })

  test('without iss is refused where the provider announces it (25.6)', async () => {
    const forger = await startForgedProvider()
    forger.discovery = { authorization_response_iss_parameter_supported: true }
    await expect(signIn(forger)).rejects.toMatchObject({ reason: 'provider_answer' })
    const withIssuer = providerFor(forger.issuer).finish(
      callbackOf({ iss: forger.issuer }),
      SECRETS,
      NO_END,
    )
    expect(await withIssuer).toMatchObject({ userId: 'ada-1' })
  })
})
