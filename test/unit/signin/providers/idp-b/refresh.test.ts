// Microsoft is asked again (contract 25.7): the account is of one tenant, and Graph says who it is now.
import { describe, expect, test } from 'vitest'
import type { IdpBProvider } from '../../../../../src/api/config.gen.ts'
import { GrantEnded } from '../../../../../src/domain/signin/refusals.ts'
import { accountOf, askAgain, refreshOf, rotateAt } from '../../../../support/oidc/refresh.ts'
import {
  ADA,
  COMPANY,
  groupId,
  idpB,
  type IdpB,
  issuerOf,
  PERSONAL,
  signInAtB,
  startIdpB,
  STRANGERS,
} from '../../../../support/providers/idp-b.ts'

const GROUP = [groupId(1)]

/** An account that has signed in, and the provider. */
async function signedIn(settings: IdpBProvider = {}, tenant = COMPANY) {
  const microsoft = await startIdpB('common')
  microsoft.forger.token = { refresh_token: 'refresh secret 1' }
  const account = accountOf(await signInAtB(microsoft, settings, { tenant }))
  return { microsoft, account, provider: idpB(microsoft, settings) }
}

/** Has Microsoft answer a refresh, with an ID token of a tenant. */
async function answerOf(
  microsoft: IdpB,
  tenant = COMPANY,
  claims: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const own = { iss: issuerOf(microsoft, tenant), tid: tenant, oid: ADA, sub: 'pairwise-1' }
  await rotateAt(microsoft.forger, { ...own, groups: undefined, ...claims })
  microsoft.forger.token = { ...microsoft.forger.token, access_token: 'an access token' }
}

describe('an account of Microsoft', () => {
  test.each([COMPANY, PERSONAL])(
    'of tenant %s is verified as one of that tenant, behind shared documents (25.7)',
    async (tenant) => {
      const { microsoft, account, provider } = await signedIn({}, tenant)
      await answerOf(microsoft, tenant)
      microsoft.pages = [[4]]
      microsoft.me = { id: ADA, userPrincipalName: 'byron@example.com' }
      const { outcome, kept } = await askAgain(provider, account)
      expect(outcome).toMatchObject({
        subject: `${issuerOf(microsoft, tenant)}#${ADA}`,
        username: 'byron@example.com',
        groups: tenant === PERSONAL ? [] : [{ name: groupId(4), displayName: 'Group 4' }],
      })
      expect(kept).toMatchObject([{ refreshToken: 'refresh secret 2' }])
    },
  )

  test('without a new ID token is who it was, and Graph says the rest (25.7)', async () => {
    const { microsoft, account, provider } = await signedIn()
    microsoft.forger.token = {}
    microsoft.pages = [[4]]
    expect((await askAgain(provider, account)).outcome).toMatchObject({
      subject: account.subject,
      groups: [{ name: groupId(4) }],
      tokens: account.tokens,
    })
  })

  test.each<{ name: string; tenant: string; claims?: Readonly<Record<string, unknown>> }>([
    { name: 'of another tenant', tenant: STRANGERS },
    {
      name: 'of another tenant by tid alone',
      tenant: COMPANY,
      claims: { tid: STRANGERS },
    },
    { name: 'of another tenant by iss alone', tenant: STRANGERS, claims: { tid: COMPANY } },
    { name: 'without tid', tenant: COMPANY, claims: { tid: undefined } },
  ])('with an ID token $name is refused, once (25.7, SB)', async ({ tenant, claims = {} }) => {
    const { microsoft, account, provider } = await signedIn()
    await answerOf(microsoft, tenant, claims)
    microsoft.forger.requests.length = 0
    const { outcome, kept } = await askAgain(provider, account)
    expect(outcome).toMatchObject({ name: 'SignInRefused', reason: 'provider_answer' })
    expect(kept).toHaveLength(1)
    const asked = microsoft.forger.requests.filter(({ path }) => path === '/token')
    expect(asked).toHaveLength(1)
  })

  test('that has lost the required group is refused, and one that Graph denies is not over (25.7)', async () => {
    const { microsoft, account, provider } = await signedIn({ groups: GROUP })
    await answerOf(microsoft)
    microsoft.pages = [[2, 3]]
    expect((await askAgain(provider, account)).outcome).toMatchObject({ reason: 'groups_required' })
    microsoft.answer = () => ({ status: 401, body: { error: 'invalid_grant' } })
    const { outcome } = await askAgain(provider, account)
    expect(outcome).toMatchObject({ reason: 'provider_answer' })
    expect(outcome).not.toBeInstanceOf(GrantEnded)
  })

  test('that Microsoft has ended is over (25.7)', async () => {
    const { microsoft, account, provider } = await signedIn()
    microsoft.forger.answers.set('/token', {
      status: 400,
      body: '{"error":"invalid_grant","error_codes":[50173],"suberror":"bad_token"}',
    })
    expect((await askAgain(provider, account)).outcome).toBeInstanceOf(GrantEnded)
  })

  test('of a tenant that the settings no longer let in is refused (25.7)', async () => {
    const microsoft = await startIdpB(COMPANY, COMPANY)
    await answerOf(microsoft, STRANGERS)
    const account = {
      subject: `${issuerOf(microsoft, STRANGERS)}#${ADA}`,
      tokens: { refreshToken: 'refresh secret 1', accessToken: 'x', idToken: null },
    }
    const { outcome } = await askAgain(idpB(microsoft, { tenant: COMPANY }), account)
    expect(outcome).toMatchObject({ reason: 'domain_refused', detail: 'tenant' })
  })
})

test.each<{ subject: (base: string) => string; known: boolean }>([
  { subject: (base) => `${base}/${COMPANY}/v2.0#${ADA}`, known: true },
  { subject: (base) => `${base}/${STRANGERS}/v2.0#${ADA}`, known: true },
  { subject: (base) => `${base}/common/v2.0#${ADA}`, known: false },
  { subject: (base) => `${base}/{tenantid}/v2.0#${ADA}`, known: false },
  { subject: (base) => `${base}/${COMPANY}/v1.0#${ADA}`, known: false },
  { subject: (base) => `${base}.evil.com/${COMPANY}/v2.0#${ADA}`, known: false },
  { subject: () => `https://login.microsoftonline.com/${COMPANY}/v2.0#${ADA}`, known: false },
])('An account of any tenant below the address is known, in row %# (24.3, 25.7)', async (row) => {
  const microsoft = await startIdpB('common')
  const { knows } = refreshOf(idpB(microsoft))
  expect(knows(row.subject(microsoft.base))).toBe(row.known)
})
