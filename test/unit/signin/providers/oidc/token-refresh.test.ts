/** @module-tag no-retry */
// A provider of OpenID Connect is asked again (contract 25.7): what it is sent, what is kept, and who the person is now.
import { describe, expect, test } from 'vitest'
import type { OidcProvider } from '../../../../../src/api/config.gen.ts'
import type { KnownAccount } from '../../../../../src/signin/providers/provider.ts'
import {
  type ForgedProvider,
  startForgedProvider,
} from '../../../../support/oidc/forged-provider.ts'
import {
  accountOf,
  askAgain,
  refreshOf,
  ROTATED,
  rotateAt,
} from '../../../../support/oidc/refresh.ts'
import { manualClock } from '../../../../support/manual-clock.ts'
import { goodToken, NO_END, providerFor, signIn } from '../../../../support/oidc/sign-in.ts'

/** A forger, and an account that has signed in there with a refresh token. */
async function signedIn(
  settings: OidcProvider = {},
  claims: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly forger: ForgedProvider; readonly account: KnownAccount }> {
  const forger = await startForgedProvider()
  forger.token = { access_token: 'access secret 1', refresh_token: 'refresh secret 1' }
  const account = accountOf(await signIn(forger, settings, claims))
  forger.requests.length = 0
  return { forger, account }
}

const pathsAt = ({ requests }: ForgedProvider): readonly string[] =>
  requests.map(({ path }) => path)

describe('the request of a refresh', () => {
  test.each<{ name: string; settings: OidcProvider; form: object; authorization: unknown }>([
    {
      name: 'a secret',
      settings: {},
      form: {},
      authorization: `Basic ${btoa('platform:a+secret')}`,
    },
    {
      name: 'a resource, as at sign-in',
      settings: { resource: 'https://api.example.com', scopes: ['email', 'offline_access'] },
      form: { resource: 'https://api.example.com' },
      authorization: expect.stringMatching(/^Basic /),
    },
    {
      name: 'no secret',
      settings: { clientSecret: '' },
      form: { client_id: 'platform' },
      authorization: undefined,
    },
  ])('has the refresh token, no scope, and $name (25.7)', async (row) => {
    const { forger, account } = await signedIn(row.settings)
    await rotateAt(forger)
    await askAgain(providerFor(forger.issuer, row.settings), account)
    const asked = forger.requests.filter(({ path }) => path === '/token')
    expect(asked.map(({ form }) => Object.fromEntries(form))).toEqual([
      { grant_type: 'refresh_token', refresh_token: 'refresh secret 1', ...row.form },
    ])
    expect(asked[0]?.headers.authorization).toEqual(row.authorization)
  })

  test('goes to no other provider than that of the account (25.7)', async () => {
    const { forger, account } = await signedIn()
    const elsewhere = { ...account, subject: `https://other.example.com#ada-1` }
    const { outcome, kept } = await askAgain(providerFor(forger.issuer), elsewhere)
    expect(outcome).toMatchObject({ reason: 'provider_unusable' })
    expect([kept, pathsAt(forger)]).toEqual([[], []])
  })

  test('needs a refresh token (25.7)', async () => {
    const { forger, account } = await signedIn()
    const { isPossible } = refreshOf(providerFor(forger.issuer))
    expect(isPossible(account.tokens)).toBe(true)
    const tokens = { ...account.tokens, refreshToken: null }
    expect(isPossible(tokens)).toBe(false)
    const { outcome } = await askAgain(providerFor(forger.issuer), { ...account, tokens })
    expect(outcome).toMatchObject({ reason: 'provider_answer' })
    expect(pathsAt(forger)).toEqual([])
  })

  test.each([
    { subject: 'https://idp.example.com#ada', known: true },
    { subject: 'https://idp.example.com#ada#1', known: true },
    { subject: 'https://idp.example.com/#ada', known: false },
    { subject: 'https://IDP.example.com#ada', known: false },
    { subject: 'https://idp.example.com.evil.com#ada', known: false },
    { subject: '', known: false },
  ])('is for the account $subject: $known (24.3, 25.7)', ({ subject, known }) => {
    expect(refreshOf(providerFor('https://idp.example.com')).knows(subject)).toBe(known)
  })

  test('is refused by settings that are unusable, which accuse nobody (25.7)', async () => {
    const { forger, account } = await signedIn()
    const provider = providerFor(forger.issuer, { clientId: '' })
    expect(refreshOf(provider).knows('https://other.example.com#ada')).toBe(true)
    const { outcome, kept } = await askAgain(provider, account)
    expect(outcome).toMatchObject({ name: 'SignInRefused', reason: 'provider_unusable' })
    expect(kept).toEqual([])
  })
})

describe('the person after a refresh', () => {
  test('is what the new ID token says, with the new tokens (25.7)', async () => {
    const { forger, account } = await signedIn()
    await rotateAt(forger, { groups: ['oncall'], name: 'Ada Byron', preferred_username: 'byron' })
    const { outcome, kept } = await askAgain(providerFor(forger.issuer), account)
    expect(outcome).toMatchObject({
      subject: account.subject,
      username: 'byron',
      displayName: 'Ada Byron',
      groups: [{ name: 'oncall', displayName: null }],
      tokens: {
        accessToken: 'access secret 2',
        refreshToken: 'refresh secret 2',
        idToken: forger.token['id_token'],
      },
    })
    expect(kept).toEqual([
      {
        accessToken: 'access secret 2',
        refreshToken: 'refresh secret 2',
        idToken: account.tokens.idToken,
      },
    ])
  })

  test('is another one, where the provider says so (25.7)', async () => {
    const { forger, account } = await signedIn()
    await rotateAt(forger, { sub: 'grace-1' })
    const { outcome } = await askAgain(providerFor(forger.issuer), account)
    expect(outcome).toMatchObject({ subject: `${forger.issuer}#grace-1` })
  })

  test.each<{ name: string; groups: unknown; reason: string }>([
    { name: 'without the required one', groups: ['guests'], reason: 'groups_required' },
    { name: 'of none', groups: [], reason: 'groups_required' },
    { name: 'of a claim that is gone', groups: undefined, reason: 'groups_required' },
    { name: 'of another form', groups: { sre: true }, reason: 'provider_answer' },
  ])('is refused with groups $name, and the tokens are kept (25.7)', async (row) => {
    const settings = { groups: ['sre'] }
    const { forger, account } = await signedIn(settings)
    await rotateAt(forger, { groups: row.groups })
    const { outcome, kept } = await askAgain(providerFor(forger.issuer, settings), account)
    expect(outcome).toMatchObject({ reason: row.reason })
    expect(kept).toMatchObject([{ refreshToken: 'refresh secret 2' }])
  })
})

describe('an answer without an ID token', () => {
  test('leaves the claims of the last one, though it has ended (25.7)', async () => {
    const { forger, account } = await signedIn()
    const ended = await goodToken(forger, { exp: 1, iat: 0, groups: ['before'] })
    const tokens = { ...account.tokens, idToken: ended }
    forger.token = ROTATED
    const { outcome } = await askAgain(providerFor(forger.issuer), { ...account, tokens })
    expect(outcome).toMatchObject({
      subject: account.subject,
      groups: [{ name: 'before' }],
      tokens: { accessToken: 'access secret 2', idToken: ended },
    })
  })

  test('has the claims of userinfo in their place, with getUserInfo (25.7)', async () => {
    const settings = { getUserInfo: true }
    const { forger, account } = await signedIn(settings)
    forger.token = ROTATED
    forger.userinfo = { groups: ['oncall'] }
    const { outcome } = await askAgain(providerFor(forger.issuer, settings), account)
    expect(outcome).toMatchObject({ username: 'ada', groups: [{ name: 'oncall' }] })
    const asked = forger.requests.find(({ path }) => path === '/userinfo')
    expect(asked?.headers.authorization).toBe('Bearer access secret 2')
  })

  test.each([null, 'no token', 'e30.e30.e30.e30.e30'])(
    'is refused where the session has %s (25.7)',
    async (idToken) => {
      const { forger, account } = await signedIn()
      forger.token = ROTATED
      const tokens = { ...account.tokens, idToken }
      const { outcome, kept } = await askAgain(providerFor(forger.issuer), { ...account, tokens })
      expect(outcome).toMatchObject({
        reason: 'provider_answer',
        because: 'neither the answer nor the session has an ID token',
      })
      expect(kept).toHaveLength(1)
    },
  )

  test.each([
    { name: 'the last ID token', claims: null, sub: 'grace-1' },
    { name: 'the new ID token', claims: { sub: 'grace-1' }, sub: 'ada-1' },
  ])('is refused with userinfo of another person than $name (25.7)', async ({ claims, sub }) => {
    const settings = { getUserInfo: true }
    const { forger, account } = await signedIn(settings)
    await rotateAt(forger, claims ?? {})
    if (claims === null) forger.token = ROTATED
    forger.userinfo = { sub }
    const { outcome } = await askAgain(providerFor(forger.issuer, settings), account)
    expect(outcome).toMatchObject({
      name: 'SignInRefused',
      reason: 'provider_answer',
      because: expect.stringMatching(/sub$/),
    })
  })
})

describe('a refresh ends', () => {
  test('when its caller leaves while the provider is silent, and before it has begun (25.7)', async () => {
    const { forger, account } = await signedIn()
    const caller = new AbortController()
    forger.answers.set('/token', () => caller.abort())
    // No time passes, so no other limit ends it.
    const provider = providerFor(forger.issuer, {}, { clock: manualClock(Date.now()) })
    const { outcome } = await askAgain(provider, account, undefined, caller.signal)
    expect(outcome).toMatchObject({ reason: 'provider_unreachable' })
    forger.requests.length = 0
    expect((await askAgain(provider, account, undefined, caller.signal)).outcome).toMatchObject({
      reason: 'provider_unreachable',
    })
    expect(forger.requests).toEqual([])
  })

  test('when its caller leaves while tokens are kept, which goes on (25.7)', async () => {
    const { forger, account } = await signedIn()
    await rotateAt(forger)
    const caller = new AbortController()
    const stored = Promise.withResolvers<void>()
    const duringKeep = (): Promise<void> => {
      caller.abort()
      return stored.promise
    }
    const provider = providerFor(forger.issuer, { getUserInfo: true })
    const { outcome, kept } = await askAgain(provider, account, duringKeep, caller.signal)
    expect(outcome).toMatchObject({ reason: 'provider_unreachable' })
    expect(kept).toMatchObject([{ refreshToken: 'refresh secret 2' }])
    stored.resolve()
  })

  test('for one caller alone, as others go on (25.7)', async () => {
    const { forger, account } = await signedIn()
    await rotateAt(forger)
    const provider = providerFor(forger.issuer)
    const gone = AbortSignal.abort()
    const [left, stayed] = await Promise.all([
      askAgain(provider, account, undefined, gone),
      askAgain(provider, account, undefined, NO_END),
    ])
    expect(left.outcome).toMatchObject({ reason: 'provider_unreachable' })
    expect(stayed.outcome).toMatchObject({ subject: account.subject })
  })
})

describe('the end of a refresh token (25.7)', () => {
  const MINUTE_MS = 60_000
  test.each([
    ['where the provider says when', { refresh_token: 'r2', refresh_expires_in: 1800 }, 30],
    ['not where it never ends', { refresh_token: 'r2', refresh_expires_in: 0 }, undefined],
    ['not where it is no number', { refresh_token: 'r2', refresh_expires_in: '1800' }, undefined],
    ['not where the provider is silent', { refresh_token: 'r2' }, undefined],
    ['as before where the old token stays', { refresh_token: undefined }, 7],
  ])('is kept %s', async (_, answer, minutes) => {
    const { forger, account } = await signedIn()
    await rotateAt(forger)
    forger.token = { ...forger.token, ...answer }
    const startMs = Date.now()
    const tokens = { ...account.tokens, refreshEndsMs: startMs + 7 * MINUTE_MS }
    const { kept } = await askAgain(providerFor(forger.issuer), { ...account, tokens })
    const endsMs = kept[0]?.refreshEndsMs
    const inMinutes = endsMs === undefined ? undefined : Math.round((endsMs - startMs) / MINUTE_MS)
    expect(inMinutes).toBe(minutes)
  })
})
