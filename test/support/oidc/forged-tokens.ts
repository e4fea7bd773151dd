// ID tokens that must be refused wherever one comes from: at a sign-in, and at a refresh.
import { createHmac } from 'node:crypto'
import { type ForgedProvider, forgerKey, sharedKey, signed } from './forged-provider.ts'
import { goodToken, SECRETS } from './sign-in.ts'

const known = await sharedKey('ES256')
const foreign = await forgerKey('ES256', 'ES256')

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token that its provider did not sign, or not so. */
interface Forgery {
  readonly name: string
  readonly token: (forger: ForgedProvider) => Promise<string> | string
}

/** Tokens that the provider never signed as they are. */
export const FORGERIES: readonly Forgery[] = [
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

/** Claims that a token must not have, beside those of a good one. */
interface WrongClaims {
  readonly name: string
  /** Times are numbers of seconds from now, as a row can be much older than its test: `asOfNow`. */
  readonly claims: Readonly<Record<string, unknown>>
  /** What the refusal says. */
  readonly because: RegExp
}

const TIMES: readonly string[] = ['exp', 'iat', 'nbf']

/** Claims of a row with the times that they mean now. */
export function asOfNow(claims: WrongClaims['claims']): Record<string, unknown> {
  const nowSeconds = Math.floor(Date.now() / 1000)
  const entries = Object.entries(claims).map(([name, value]) => [
    name,
    TIMES.includes(name) && typeof value === 'number' ? nowSeconds + value : value,
  ])
  return Object.fromEntries(entries)
}

/** Rows of claims in a token that is signed as it should be. */
export const WRONG_CLAIMS: readonly WrongClaims[] = [
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
    name: 'that has expired',
    claims: { exp: -60 },
    because: /a time is past or ahead: exp/,
  },
  { name: 'without an end', claims: { exp: undefined }, because: /is wrong or absent/ },
  { name: 'whose end is a text', claims: { exp: '9999999999' }, because: /is wrong or absent/ },
  {
    name: 'from the future',
    claims: { iat: 600 },
    because: /claim iat of the ID token/,
  },
  { name: 'without a time', claims: { iat: undefined }, because: /is wrong or absent/ },
  {
    name: 'that is not valid yet',
    claims: { nbf: 600 },
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
