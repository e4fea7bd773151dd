/** @module-tag no-retry */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type ForgedProvider,
  sharedKey,
  signed,
  startForgedProvider,
} from '../../../../support/oidc/forged-provider.ts'
import { asOfNow, FORGERIES, WRONG_CLAIMS } from '../../../../support/oidc/forged-tokens.ts'
import {
  callbackOf,
  goodToken,
  NO_END,
  providerFor,
  SECRETS,
  signIn,
} from '../../../../support/oidc/sign-in.ts'

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

  test.each(FORGERIES)('$name is refused (25.6, SB)', async ({ token }) => {
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
    forger.keys = [{ ...(await sharedKey('ES256')).jwk, use: 'enc' }]
    await expect(signIn(forger)).rejects.toMatchObject({ reason: 'provider_answer' })
  })

  const OTHER_NONCES: typeof WRONG_CLAIMS = [
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
  ]
  test.each([...WRONG_CLAIMS, ...OTHER_NONCES])(
    '$name is refused (25.6, SB)',
    async ({ claims, because }) => {
      const forger = await startForgedProvider()
      await expect(signIn(forger, {}, asOfNow(claims))).rejects.toMatchObject({
        reason: 'provider_answer',
        because: expect.stringMatching(because),
      })
    },
  )

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
