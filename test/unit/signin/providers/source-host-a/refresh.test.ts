/** @module-tag no-retry */
// GitHub is asked again (contract 25.7): by the access token of the session, for it gives no others.
import { describe, expect, test } from 'vitest'
import type { SourceHostAProvider } from '../../../../../src/api/config.gen.ts'
import { GrantEnded } from '../../../../../src/domain/signin/refusals.ts'
import { eventually } from '../../../../support/eventually.ts'
import { manualClock } from '../../../../support/manual-clock.ts'
import { accountOf, askAgain, refreshOf } from '../../../../support/oidc/refresh.ts'
import { hostAccount } from '../../../../support/providers/source-host-a.ts'
import {
  hostOfTest,
  providerAt,
  signInAt,
} from '../../../../support/providers/source-host-a-sign-in.ts'

const ACME: SourceHostAProvider = { orgs: [{ name: 'acme' }] }
const MEMBER = hostAccount({ orgs: ['acme'], teams: [['acme', 'sre', 'SRE']] })
const PATHS = ['/user', '/user/emails', '/user/orgs', '/user/teams']

/** A member of acme who has signed in. */
async function signedIn() {
  const host = await hostOfTest()
  host.account = MEMBER
  const account = accountOf(await signInAt(host, ACME))
  host.requests.length = 0
  return { host, account, provider: providerAt(host, ACME) }
}

describe('a person of GitHub, asked for again,', () => {
  test('is who the API says now, by the same token, and nothing is kept (25.7)', async () => {
    const { host, account, provider } = await signedIn()
    host.account = { ...MEMBER, login: 'byron', teams: [['acme', 'oncall', 'On call']] }
    const { outcome, kept } = await askAgain(provider, account)
    expect(outcome).toMatchObject({
      subject: account.subject,
      username: 'byron',
      groups: [{ name: 'acme:oncall', displayName: 'On call' }],
      tokens: account.tokens,
    })
    expect(kept).toEqual([])
    expect(host.requests.map(({ path }) => path)).toEqual(PATHS.map((path) => `/api/v3${path}`))
    const authorizations = new Set(host.requests.map(({ headers }) => headers.authorization))
    expect([...authorizations]).toEqual([`Bearer ${account.tokens.accessToken}`])
  })

  test('is another one, where the token is of another account (25.7)', async () => {
    const { host, account, provider } = await signedIn()
    host.account = { ...MEMBER, id: 7 }
    const { outcome } = await askAgain(provider, account)
    expect(outcome).toMatchObject({ subject: `${host.url}/api/v3#7` })
  })

  test('is refused after leaving the organization (25.7)', async () => {
    const { host, account, provider } = await signedIn()
    host.account = hostAccount()
    const { outcome } = await askAgain(provider, account)
    expect(outcome).toMatchObject({ reason: 'groups_required', detail: 'orgs' })
    expect(outcome).not.toBeInstanceOf(GrantEnded)
  })

  test.each(PATHS)('is gone where %s takes the token no more (25.7)', async (path) => {
    const { host, account, provider } = await signedIn()
    host.answers.set(`/api/v3${path}`, { status: 401, body: '{"message":"a secret"}' })
    const { outcome } = await askAgain(provider, account)
    expect(outcome).toBeInstanceOf(GrantEnded)
    expect(outcome).toMatchObject({ reason: 'provider_refused', detail: 'invalid_grant' })
    expect(String(outcome)).not.toMatch(/secret|gho_/)
  })

  test.each([403, 404, 429, 500, 502])(
    'is not gone where the API answers %i, at any path (25.7)',
    async (status) => {
      const { host, account, provider } = await signedIn()
      for (const path of PATHS) {
        host.answers.set(`/api/v3${path}`, { status, body: '{"message":"Bad credentials"}' })
        const { outcome } = await askAgain(provider, account)
        expect(outcome).toMatchObject({ name: 'SignInRefused' })
        expect(outcome).not.toBeInstanceOf(GrantEnded)
        expect(['provider_answer', 'provider_unreachable', 'groups_unreadable']).toContain(
          (outcome as { reason?: unknown }).reason,
        )
        host.answers.clear()
      }
    },
  )

  test('is not gone where no answer comes, in time or before the caller leaves (25.7)', async () => {
    const { host, account } = await signedIn()
    host.answers.set('/api/v3/user', () => undefined)
    const clock = manualClock(Date.now())
    const late = askAgain(providerAt(host, ACME, { clock }), account)
    await eventually('a request', () => host.requests[0], { withinMs: 5000 })
    await clock.advance(10_000)
    expect((await late).outcome).toMatchObject({ reason: 'provider_unreachable' })
    const caller = new AbortController()
    host.answers.set('/api/v3/user', () => caller.abort())
    const left = askAgain(providerAt(host, ACME, { clock }), account, undefined, caller.signal)
    expect((await left).outcome).toMatchObject({ reason: 'provider_unreachable' })
  })
})

describe('a refresh at GitHub', () => {
  test('needs an access token (25.7)', async () => {
    const { host, account, provider } = await signedIn()
    const tokens = { accessToken: null, refreshToken: 'refresh secret 1', idToken: null }
    expect(refreshOf(provider).isPossible(account.tokens)).toBe(true)
    expect(refreshOf(provider).isPossible(tokens)).toBe(false)
    const { outcome } = await askAgain(provider, { ...account, tokens })
    expect(outcome).toMatchObject({ reason: 'provider_answer' })
    expect(host.requests).toEqual([])
  })

  test('sends no token to another server than that of the account (24.3, 25.7)', async () => {
    const { account } = await signedIn()
    const other = await hostOfTest()
    const provider = providerAt(other, ACME)
    expect(refreshOf(provider).knows(account.subject)).toBe(false)
    const { outcome } = await askAgain(provider, account)
    expect(outcome).toMatchObject({ reason: 'provider_unusable' })
    expect(other.requests).toEqual([])
  })

  test.each([
    { api: 'https://ghe.example.com/api/v3', known: true },
    { api: 'https://ghe.example.com', known: false },
    { api: 'https://ghe.example.com/api/v3/', known: false },
    { api: 'https://api.github.com', known: false },
  ])('is for an account of $api: $known (24.3, 25.7)', ({ api, known }) => {
    const provider = providerAt({ url: 'https://github.com' }, { hostName: 'ghe.example.com' })
    expect(refreshOf(provider).knows(`${api}#583231`)).toBe(known)
  })

  test('fails by unusable settings, and accuses nobody (25.7)', async () => {
    const { host, account } = await signedIn()
    const provider = providerAt(host, { clientSecret: '' })
    expect(refreshOf(provider).knows('https://other.example.com#1')).toBe(true)
    const { outcome } = await askAgain(provider, account)
    expect(outcome).toMatchObject({ reason: 'provider_unusable' })
  })
})
