/** @module-tag no-retry */
import { describe, expect, onTestFinished, test } from 'vitest'
import type { SignInProvider } from '../../../../../src/signin/providers/provider.ts'
import { eventually } from '../../../../support/eventually.ts'
import { manualClock } from '../../../../support/manual-clock.ts'
import {
  type ForgedProvider,
  forgerKey,
  sharedKey,
  signed,
  startForgedProvider,
} from '../../../../support/oidc/forged-provider.ts'
import {
  beginAt,
  callbackOf,
  goodToken,
  NO_END,
  providerFor,
  SECRETS,
} from '../../../../support/oidc/sign-in.ts'

const asked = ({ requests }: ForgedProvider, wanted: string): number =>
  requests.filter(({ path }) => path === wanted).length

const DISCOVERY = '/.well-known/openid-configuration'
const EC_KEY = { kty: 'EC' }
const HOUR_MS = 3_600_000

const GONE = AbortSignal.abort()

describe('the documents of a provider', () => {
  test('are read at the first use, and again after an hour (25.6)', async () => {
    const forger = await startForgedProvider()
    const clock = manualClock(Date.now())
    const provider = providerFor(forger.issuer, {}, { clock })
    expect(asked(forger, DISCOVERY)).toBe(0)
    await beginAt(provider)
    await clock.advance(HOUR_MS - 1)
    await beginAt(provider)
    expect([asked(forger, DISCOVERY), asked(forger, '/keys')]).toEqual([1, 1])
    await clock.advance(1)
    await beginAt(provider)
    expect([asked(forger, DISCOVERY), asked(forger, '/keys')]).toEqual([2, 2])
  })

  test('are read at each check, which finds what is wrong by now (27.1)', async () => {
    const forger = await startForgedProvider()
    const provider = providerFor(forger.issuer)
    expect(await provider.check(NO_END)).toEqual({ fault: null, warnings: [] })
    forger.answers.set(DISCOVERY, { status: 503, body: '' })
    expect(await provider.check(NO_END)).toMatchObject({ fault: 'the provider answered 503' })
    forger.answers.delete(DISCOVERY)
    expect(await provider.check(NO_END)).toMatchObject({ fault: null })
    expect(asked(forger, DISCOVERY)).toBe(3)
  })

  test('are read once for all who wait for them', async () => {
    const forger = await startForgedProvider()
    const provider = providerFor(forger.issuer)
    await Promise.all(Array.from({ length: 10 }, () => provider.begin(SECRETS, NO_END)))
    expect(asked(forger, DISCOVERY)).toBe(1)
  })

  test('are read for others when one of them goes', async () => {
    const forger = await startForgedProvider()
    const answer: { send: () => void } = { send: () => undefined }
    forger.answers.set(DISCOVERY, (response) => {
      forger.answers.delete(DISCOVERY)
      answer.send = () => void response.writeHead(307).end()
    })
    const provider = providerFor(forger.issuer)
    const caller = new AbortController()
    const gone = provider.begin(SECRETS, caller.signal)
    const other = provider.begin(SECRETS, NO_END)
    await eventually('a request', () => forger.requests[0], { withinMs: 5000 })
    caller.abort()
    await expect(gone).rejects.toMatchObject({ because: 'the caller has gone' })
    answer.send()
    await expect(other).rejects.toMatchObject({ because: 'the provider answered 307' })
  })

  test.each<{ name: string; act: (provider: SignInProvider) => Promise<unknown> }>([
    { name: 'begins', act: (provider) => provider.begin(SECRETS, GONE) },
    { name: 'finishes', act: (provider) => provider.finish(callbackOf(), SECRETS, GONE) },
    { name: 'signs out', act: (provider) => provider.endSession(null, GONE) },
    { name: 'checks', act: (provider) => provider.check(GONE) },
  ])('of unusable settings, whose caller has gone and $name, end no process', async ({ act }) => {
    const unhandled: unknown[] = []
    const listen = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', listen)
    onTestFinished(() => void process.off('unhandledRejection', listen))
    await act(providerFor('http://idp.example.com')).catch(() => undefined)
    await new Promise(setImmediate)
    expect(unhandled).toEqual([])
  })

  test('of an issuer with a path are below it (25.6)', async () => {
    const forger = await startForgedProvider(null, '/realms/staff')
    expect((await beginAt(providerFor(forger.issuer))).pathname).toBe('/realms/staff/authorize')
    const withSlash = `${forger.issuer}/`
    forger.discovery = { issuer: withSlash }
    await providerFor(withSlash).begin(SECRETS, NO_END)
    expect(asked(forger, DISCOVERY)).toBe(2)
  })
})

describe('a key that is not known', () => {
  /** Signs in with a token of a key. */
  async function world() {
    const forger = await startForgedProvider()
    const clock = manualClock(Date.now())
    const provider = providerFor(forger.issuer, {}, { clock })
    const next = await forgerKey('ES256', 'next')
    const signInWith = async (kid: string | undefined) => {
      const nowSeconds = Math.floor(clock.nowMs() / 1000)
      const claims = { ...forger.claims(SECRETS.nonce), iat: nowSeconds, exp: nowSeconds + 60 }
      forger.token = { id_token: await signed(claims, next, { alg: 'ES256', ...(kid && { kid }) }) }
      return provider.finish(callbackOf(), SECRETS, NO_END)
    }
    await beginAt(provider)
    return { forger, clock, next, signInWith }
  }

  test.each(['next', undefined])(
    'makes the provider read the documents again, which have it (kid %s) (25.6)',
    async (kid) => {
      const { forger, clock, next, signInWith } = await world()
      forger.keys = [next.jwk]
      await clock.advance(60_000)
      expect(await signInWith(kid)).toMatchObject({ userId: 'ada-1' })
      expect([asked(forger, '/keys'), asked(forger, '/token')]).toEqual([2, 1])
    },
  )

  test('makes them be read once a minute at most (25.6, SB)', async () => {
    const { forger, clock, signInWith } = await world()
    const refused = { reason: 'provider_answer' }
    await clock.advance(59_999)
    await expect(signInWith('next')).rejects.toMatchObject(refused)
    expect(asked(forger, '/keys')).toBe(1)
    await clock.advance(1)
    for (const _ of [1, 2, 3]) await expect(signInWith('next')).rejects.toMatchObject(refused)
    expect(asked(forger, '/keys')).toBe(2)
    await clock.advance(60_000)
    await expect(signInWith('next')).rejects.toMatchObject(refused)
    expect(asked(forger, '/keys')).toBe(3)
  })
})

describe('the time of a sign-in', () => {
  test('comes from the clock of this process (25.6)', async () => {
    const forger = await startForgedProvider()
    forger.token = { id_token: await goodToken(forger) }
    const late = providerFor(forger.issuer, {}, { clock: manualClock(Date.now() + HOUR_MS) })
    await expect(late.finish(callbackOf(), SECRETS, NO_END)).rejects.toMatchObject({
      because: expect.stringContaining('exp'),
    })
    const early = providerFor(forger.issuer, {}, { clock: manualClock(Date.now() - HOUR_MS) })
    await expect(early.finish(callbackOf(), SECRETS, NO_END)).rejects.toMatchObject({
      because: 'claim iat of the ID token',
    })
  })
})

describe('a discovery document', () => {
  const metadata = 'http://169.254.169.254/latest'
  test.each<{ name: string; fields: object; because: string }>([
    {
      name: 'of another issuer',
      fields: { issuer: 'https://other.example.com' },
      because: 'names another issuer than issuerUrl',
    },
    { name: 'without an issuer', fields: { issuer: undefined }, because: 'names another issuer' },
    {
      name: 'without an address for tokens',
      fields: { token_endpoint: undefined },
      because: 'has no usable token_endpoint',
    },
    {
      name: 'whose address for browsers has another scheme',
      fields: { authorization_endpoint: 'javascript:alert(1)' },
      because: 'has no usable authorization_endpoint',
    },
    {
      name: 'whose keys are at a metadata address without TLS',
      fields: { jwks_uri: metadata },
      because: 'has no usable jwks_uri',
    },
    { name: 'whose keys are a number', fields: { jwks_uri: 7 }, because: 'has no usable jwks_uri' },
    {
      name: 'whose keys are at a metadata address',
      fields: { jwks_uri: 'https://169.254.169.254/keys' },
      because: 'has an address that is a metadata address',
    },
    {
      name: 'whose keys are at a mapped address',
      fields: { jwks_uri: 'https://[::ffff:10.0.0.1]/keys' },
      because: 'has an address that is a private address',
    },
    {
      name: 'whose keys are at no address',
      fields: { jwks_uri: 'https://0.0.0.0/keys' },
      because: 'has an address that is an unspecified address',
    },
  ])('$name is refused (25.6, SB, SJ)', async ({ fields, because }) => {
    const forger = await startForgedProvider()
    forger.discovery = { ...fields }
    const provider = providerFor(forger.issuer)
    await expect(provider.begin(SECRETS, NO_END)).rejects.toMatchObject({
      because: expect.stringContaining(because),
    })
    expect(await provider.check(NO_END)).toEqual({
      fault: expect.stringContaining(because),
      warnings: [],
    })
  })

  test('whose address for tokens is a metadata address is refused at the code (25.6, SJ)', async () => {
    const forger = await startForgedProvider()
    forger.discovery = { token_endpoint: 'https://169.254.169.254/token' }
    const provider = providerFor(forger.issuer)
    await expect(provider.finish(callbackOf(), SECRETS, NO_END)).rejects.toMatchObject({
      reason: 'provider_unusable',
      because: 'a server of the provider has an address that is a metadata address',
    })
  })

  test.each<{ name: string; path: string; body: string; because: string }>([
    {
      name: 'a document in HTML',
      path: DISCOVERY,
      body: '<html>',
      because: 'the discovery document must be a JSON object',
    },
    {
      name: 'a document that is a list',
      path: DISCOVERY,
      body: '[]',
      because: 'the discovery document must be a JSON object',
    },
    {
      name: 'keys in HTML',
      path: '/keys',
      body: '<html>',
      because: 'the key set has no list of keys',
    },
    {
      name: 'keys that are texts',
      path: '/keys',
      body: '{"keys":["a"]}',
      because: 'the key set has no list of keys',
    },
    {
      name: '10,000 keys',
      path: '/keys',
      body: JSON.stringify({ keys: Array.from({ length: 10_000 }, () => EC_KEY) }),
      because: 'the key set',
    },
    {
      name: '101 keys',
      path: '/keys',
      body: JSON.stringify({ keys: Array.from({ length: 101 }, () => EC_KEY) }),
      because: 'the key set has more than 100 keys',
    },
    {
      name: 'a document of two megabytes',
      path: DISCOVERY,
      body: ' '.repeat(2_000_000),
      because: 'the answer has more than 1048576 bytes',
    },
  ])('$name is refused (25.6, SB)', async ({ path, body, because }) => {
    const forger = await startForgedProvider()
    forger.answers.set(path, { body })
    await expect(providerFor(forger.issuer).begin(SECRETS, NO_END)).rejects.toMatchObject({
      reason: 'provider_answer',
      because: expect.stringContaining(because),
    })
  })

  test('that is elsewhere (a redirect) is refused (25.6, SJ)', async () => {
    const forger = await startForgedProvider()
    forger.answers.set(DISCOVERY, (response) =>
      response.writeHead(302, { location: `${forger.issuer}/keys` }).end(),
    )
    await expect(providerFor(forger.issuer).begin(SECRETS, NO_END)).rejects.toMatchObject({
      because: 'the provider answered 302',
    })
    expect(asked(forger, '/keys')).toBe(0)
  })
})

test('the key of an algorithm is not used for another one (25.6, SB)', async () => {
  const forger = await startForgedProvider()
  const key = await sharedKey('RS256')
  forger.keys = [{ ...key.jwk, alg: 'RS256' }]
  const claims = forger.claims(SECRETS.nonce)
  forger.token = { id_token: await signed(claims, key, { alg: 'RS256', kid: 'RS256' }) }
  const provider = providerFor(forger.issuer)
  expect(await provider.finish(callbackOf(), SECRETS, NO_END)).toMatchObject({ userId: 'ada-1' })
  const [, body, signature] = String(forger.token['id_token']).split('.')
  const header = Buffer.from('{"alg":"ES256","kid":"RS256"}').toString('base64url')
  forger.token = { id_token: `${header}.${body}.${signature}` }
  await expect(provider.finish(callbackOf(), SECRETS, NO_END)).rejects.toMatchObject({
    reason: 'provider_answer',
  })
})
