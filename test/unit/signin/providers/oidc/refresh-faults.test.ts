/** @module-tag no-retry */
// Answers to a refresh that must not count (contract 25.7): forged tokens, and a provider that fails. A refresh token that came is
// kept whatever follows, for the old one may have ended with it.
import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { GrantEnded, SignInRefused } from '../../../../../src/domain/signin/refusals.ts'
import type { KnownAccount } from '../../../../../src/signin/providers/provider.ts'
import { eventually } from '../../../../support/eventually.ts'
import {
  type ForgedProvider,
  type ForgerAnswer,
  startForgedProvider,
} from '../../../../support/oidc/forged-provider.ts'
import { asOfNow, FORGERIES, WRONG_CLAIMS } from '../../../../support/oidc/forged-tokens.ts'
import { accountOf, askAgain, ROTATED, rotateAt } from '../../../../support/oidc/refresh.ts'
import { NO_END, providerFor, signIn } from '../../../../support/oidc/sign-in.ts'
import { manualClock } from '../../../../support/manual-clock.ts'

const OLD = { access_token: 'access secret 1', refresh_token: 'refresh secret 1' }

async function signedIn(): Promise<{ forger: ForgedProvider; account: KnownAccount }> {
  const forger = await startForgedProvider()
  forger.token = OLD
  const account = accountOf(await signIn(forger))
  forger.requests.length = 0
  return { forger, account }
}

/** The tokens of the session after an answer with rotated ones: the ID token is none that was not verified. */
const keptOf = ({ tokens }: KnownAccount) => [
  {
    accessToken: 'access secret 2',
    refreshToken: 'refresh secret 2',
    idToken: tokens.idToken,
  },
]

const halfHash = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')

describe('an ID token of a refresh', () => {
  test.each(FORGERIES)(
    '$name is refused, and the tokens beside it are kept (25.7, SB)',
    async (row) => {
      const { forger, account } = await signedIn()
      forger.token = { ...ROTATED, id_token: await row.token(forger) }
      const { outcome, kept } = await askAgain(providerFor(forger.issuer), account)
      expect(outcome).toMatchObject({ name: 'SignInRefused', reason: 'provider_answer' })
      expect(outcome).not.toBeInstanceOf(GrantEnded)
      expect(kept).toEqual(keptOf(account))
      expect(forger.requests.map(({ path }) => path)).not.toContain('/foreign')
    },
  )

  test.each(WRONG_CLAIMS)(
    '$name is refused, and the tokens beside it are kept (25.7, SB)',
    async (row) => {
      const { forger, account } = await signedIn()
      await rotateAt(forger, asOfNow(row.claims))
      const { outcome, kept } = await askAgain(providerFor(forger.issuer), account)
      expect(outcome).toMatchObject({
        reason: 'provider_answer',
        because: expect.stringMatching(row.because),
      })
      expect(kept).toEqual(keptOf(account))
    },
  )

  test.each([undefined, 'of another attempt'])(
    'may have any nonce, such as %s (25.7)',
    async (nonce) => {
      const { forger, account } = await signedIn()
      await rotateAt(forger, { nonce })
      const { outcome } = await askAgain(providerFor(forger.issuer), account)
      expect(outcome).toMatchObject({ userId: 'ada-1' })
    },
  )

  test('is compared with the access token beside it, not with the old one (25.7, SB)', async () => {
    const { forger, account } = await signedIn()
    await rotateAt(forger, { at_hash: halfHash('access secret 2') })
    expect((await askAgain(providerFor(forger.issuer), account)).outcome).toMatchObject({
      userId: 'ada-1',
    })
    await rotateAt(forger, { at_hash: halfHash('access secret 1') })
    expect((await askAgain(providerFor(forger.issuer), account)).outcome).toMatchObject({
      because: 'claim at_hash of the ID token',
    })
  })
})

describe('the session after an answer', () => {
  test.each<{ name: string; token: object; kept: object; isGood: boolean }>([
    {
      name: 'the old refresh token, where none came',
      token: { access_token: 'access secret 2' },
      kept: { accessToken: 'access secret 2', refreshToken: 'refresh secret 1' },
      isGood: true,
    },
    {
      name: 'both, where they are the old ones',
      token: OLD,
      kept: { accessToken: 'access secret 1', refreshToken: 'refresh secret 1' },
      isGood: true,
    },
    {
      name: 'the old refresh token, where an empty one came',
      token: { ...ROTATED, refresh_token: '' },
      kept: { accessToken: 'access secret 2', refreshToken: 'refresh secret 1' },
      isGood: false,
    },
    {
      name: 'the old refresh token, where a number came',
      token: { ...ROTATED, refresh_token: 7 },
      kept: { accessToken: 'access secret 2', refreshToken: 'refresh secret 1' },
      isGood: false,
    },
    {
      name: 'the old refresh token, where one of more than 64 KiB came',
      token: { ...ROTATED, refresh_token: 'x'.repeat(65_537) },
      kept: { accessToken: 'access secret 2', refreshToken: 'refresh secret 1' },
      isGood: false,
    },
    {
      name: 'the old access token, where one of more than 64 KiB came',
      token: { ...ROTATED, access_token: 'x'.repeat(65_537) },
      kept: { accessToken: 'access secret 1', refreshToken: 'refresh secret 2' },
      isGood: false,
    },
    {
      name: 'the new refresh token, where no access token came',
      token: { ...ROTATED, access_token: undefined },
      kept: { accessToken: 'access secret 1', refreshToken: 'refresh secret 2' },
      isGood: false,
    },
    {
      name: 'the new tokens, where they are of another type',
      token: { ...ROTATED, token_type: 'mac' },
      kept: { accessToken: 'access secret 2', refreshToken: 'refresh secret 2' },
      isGood: false,
    },
  ])('has $name (25.7)', async ({ token, kept: expected, isGood }) => {
    const { forger, account } = await signedIn()
    forger.token = token as Record<string, unknown>
    const { outcome, kept } = await askAgain(providerFor(forger.issuer), account)
    expect(kept).toEqual([{ idToken: account.tokens.idToken, ...expected }])
    expect(outcome).toMatchObject(isGood ? { tokens: expected } : { reason: 'provider_answer' })
  })

  test('has its tokens before keys and userinfo are asked for (25.7)', async () => {
    const { forger, account } = await signedIn()
    const clock = manualClock(Date.now())
    const provider = providerFor(forger.issuer, { getUserInfo: true }, { clock })
    const { keys } = forger
    forger.keys = keys.map((key) => ({ ...key, kid: 'the key before' }))
    await provider.check(NO_END)
    await clock.advance(60_000)
    forger.keys = keys
    await rotateAt(forger)
    forger.requests.length = 0
    const paths = (): readonly string[] => forger.requests.map(({ path }) => path)
    const before: string[] = []
    const { outcome } = await askAgain(provider, account, async () => void before.push(...paths()))
    expect(outcome).toMatchObject({ userId: 'ada-1' })
    expect(before).toEqual(['/token'])
    expect(paths()).toEqual(['/token', '/.well-known/openid-configuration', '/keys', '/userinfo'])
  })

  test.each([
    { name: 'an error', error: new Error('409') },
    { name: 'an error that openid-client knows', error: new TypeError('409') },
    { name: 'a refusal', error: new SignInRefused('provider_refused', 'of a test') },
    { name: 'a text', error: '409' },
  ])('that cannot be written ends all with $name, unchanged (25.7)', async ({ error }) => {
    const { forger, account } = await signedIn()
    await rotateAt(forger)
    const provider = providerFor(forger.issuer, { getUserInfo: true })
    const { outcome } = await askAgain(provider, account, () => Promise.reject(error))
    expect(outcome).toBe(error)
    expect(forger.requests.map(({ path }) => path)).not.toContain('/userinfo')
  })
})

describe('an answer of the token endpoint to a refresh', () => {
  const refused = (error: unknown, status = 400): ForgerAnswer => ({
    status,
    body: JSON.stringify({ error, error_description: 'a secret' }),
  })
  test.each<{ name: string; answer: ForgerAnswer; refusal: object; isEnd?: true }>([
    {
      name: 'invalid_grant',
      answer: refused('invalid_grant'),
      refusal: { reason: 'provider_refused', detail: 'invalid_grant' },
      isEnd: true,
    },
    {
      name: 'invalid_grant with 401',
      answer: refused('invalid_grant', 401),
      refusal: { reason: 'provider_refused', detail: 'invalid_grant' },
      isEnd: true,
    },
    {
      name: 'invalid_grant with 500',
      answer: refused('invalid_grant', 500),
      refusal: { reason: 'provider_unreachable' },
    },
    {
      name: 'invalid_grant with 200',
      answer: refused('invalid_grant', 200),
      refusal: { reason: 'provider_answer' },
    },
    {
      name: 'invalid_grant in a list',
      answer: refused(['invalid_grant']),
      refusal: { reason: 'provider_answer' },
    },
    {
      name: 'invalid_client',
      answer: refused('invalid_client', 401),
      refusal: { reason: 'provider_unusable', because: 'the token endpoint says invalid_client' },
    },
    {
      name: 'unauthorized_client',
      answer: refused('unauthorized_client'),
      refusal: { reason: 'provider_unusable' },
    },
    {
      name: 'interaction_required',
      answer: refused('interaction_required'),
      refusal: { reason: 'provider_refused', detail: 'interaction_required' },
    },
    {
      name: 'an error in HTML',
      answer: refused('<b>a secret'),
      refusal: { reason: 'provider_refused', detail: null },
    },
    {
      name: '400 without an error',
      answer: { status: 400, body: '{}' },
      refusal: { reason: 'provider_answer' },
    },
    {
      name: '429',
      answer: { status: 429, body: '{"error":"invalid_grant"}' },
      refusal: { reason: 'provider_answer' },
    },
    {
      name: '500',
      answer: { status: 500, body: 'a secret' },
      refusal: { reason: 'provider_unreachable' },
    },
    { name: 'HTML', answer: { body: '<html>a secret' }, refusal: { reason: 'provider_answer' } },
    { name: 'a list', answer: { body: '["a secret"]' }, refusal: { reason: 'provider_answer' } },
    { name: 'nothing', answer: { body: '' }, refusal: { reason: 'provider_answer' } },
    {
      name: 'tokens of two megabytes',
      answer: { body: JSON.stringify({ access_token: 'a secret'.repeat(250_000) }) },
      refusal: { reason: 'provider_answer' },
    },
    {
      name: 'a broken connection',
      answer: (response) => response.destroy(),
      refusal: { reason: 'provider_unreachable' },
    },
  ])('of $name is refused, not quoted, and keeps nothing (25.5, 25.7)', async (row) => {
    const { forger, account } = await signedIn()
    forger.answers.set('/token', row.answer)
    const { outcome, kept } = await askAgain(providerFor(forger.issuer), account)
    expect(outcome).toMatchObject(row.refusal)
    expect(outcome instanceof GrantEnded).toBe(row.isEnd ?? false)
    expect(inspect(outcome, { depth: 10, showHidden: true })).not.toMatch(/secret/)
    expect(kept).toEqual([])
  })

  test('that does not come in ten seconds is refused (25.6, 25.7)', async () => {
    const { forger, account } = await signedIn()
    forger.answers.set('/token', () => undefined)
    const clock = manualClock(Date.now())
    const asked = askAgain(providerFor(forger.issuer, {}, { clock }), account)
    await eventually('a request', () => forger.requests.find(({ path }) => path === '/token'), {
      withinMs: 5000,
    })
    await clock.advance(10_000)
    expect((await asked).outcome).toMatchObject({ reason: 'provider_unreachable' })
  })

  test.each([400, 401, 403])(
    'counts no invalid_grant of userinfo with %i (25.7)',
    async (status) => {
      const { forger, account } = await signedIn()
      await rotateAt(forger)
      forger.answers.set('/userinfo', { status, body: '{"error":"invalid_grant"}' })
      const { outcome } = await askAgain(providerFor(forger.issuer, { getUserInfo: true }), account)
      expect(outcome).toMatchObject({ reason: 'provider_answer' })
      expect(outcome).not.toBeInstanceOf(GrantEnded)
    },
  )

  test('counts no error of documents as the end of the account (25.7)', async () => {
    const { forger, account } = await signedIn()
    const answer = { status: 400, body: '{"error":"invalid_grant"}' }
    forger.answers.set('/.well-known/openid-configuration', answer)
    const { outcome } = await askAgain(providerFor(forger.issuer), account)
    expect(outcome).toMatchObject({ reason: 'provider_answer' })
  })
})
