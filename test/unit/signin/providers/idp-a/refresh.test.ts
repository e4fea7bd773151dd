// Google is asked again (contract 25.7): domain and groups are looked at as at the sign-in.
import { expect, test } from 'vitest'
import type { IdpAProvider } from '../../../../../src/api/config.gen.ts'
import { GrantEnded } from '../../../../../src/domain/signin/refusals.ts'
import { accountOf, askAgain, refreshOf, rotateAt } from '../../../../support/oidc/refresh.ts'
import {
  idpA,
  OF_COMPANY,
  signInAtA,
  startIdpA,
  withDirectory,
} from '../../../../support/providers/idp-a.ts'

const GROUPS = ['sre@example.com']

/** An account that has signed in with the directory, and the provider. */
async function signedIn(more: IdpAProvider = {}) {
  const google = await startIdpA()
  google.forger.token = { refresh_token: 'refresh secret 1' }
  const settings = { ...withDirectory(google), ...more }
  const account = accountOf(await signInAtA(google, settings))
  return { google, account, provider: idpA(google, settings) }
}

test('groups are read from the directory again (25.7)', async () => {
  const { google, account, provider } = await signedIn()
  await rotateAt(google.forger, OF_COMPANY)
  google.pages = [['oncall@example.com']]
  const { outcome, kept } = await askAgain(provider, account)
  expect(outcome).toMatchObject({
    subject: account.subject,
    groups: [{ name: 'oncall@example.com' }],
  })
  expect(kept).toMatchObject([{ refreshToken: 'refresh secret 2' }])
})

test.each<{ name: string; claims: object; pages: string[][]; refusal: object }>([
  {
    name: 'the required group',
    claims: {},
    pages: [['staff@example.com']],
    refusal: { reason: 'groups_required', detail: 'groups' },
  },
  {
    name: 'the domain',
    claims: { hd: undefined },
    pages: [GROUPS],
    refusal: { reason: 'domain_refused', detail: 'hostedDomains' },
  },
])('a person who has lost $name is refused (25.7)', async ({ claims, pages, refusal }) => {
  const rules = { groups: GROUPS, hostedDomains: ['example.com'] }
  const { google, account, provider } = await signedIn(rules)
  await rotateAt(google.forger, { ...OF_COMPANY, ...claims })
  google.pages = pages
  expect((await askAgain(provider, account)).outcome).toMatchObject(refusal)
})

test.each([
  { name: '/token', reason: 'provider_unusable' },
  { name: '/admin/directory/v1/groups', reason: 'groups_unreadable' },
])('invalid_grant of $name ends no account (25.7)', async ({ name, reason }) => {
  const { google, account, provider } = await signedIn()
  await rotateAt(google.forger, OF_COMPANY)
  google.answer = ({ path }) =>
    path === name ? { status: 400, body: { error: 'invalid_grant' } } : undefined
  const { outcome, kept } = await askAgain(provider, account)
  expect(outcome).toMatchObject({ reason })
  expect(outcome).not.toBeInstanceOf(GrantEnded)
  expect(kept).toHaveLength(1)
})

test('an account that Google has ended is over, and another address is another one (24.3, 25.7)', async () => {
  const { google, account, provider } = await signedIn()
  const answer = { status: 400, body: '{"error":"invalid_grant"}' }
  google.forger.answers.set('/token', answer)
  expect((await askAgain(provider, account)).outcome).toBeInstanceOf(GrantEnded)
  expect(google.directory.requests.filter(({ path }) => path !== '/token')).toHaveLength(1)
  expect(refreshOf(idpA(await startIdpA())).knows(account.subject)).toBe(false)
})
