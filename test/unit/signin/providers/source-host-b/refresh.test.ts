// GitLab is asked again (contract 25.7): userinfo has the groups, as at the sign-in.
import { expect, test } from 'vitest'
import {
  accountOf,
  askAgain,
  refreshOf,
  ROTATED,
  rotateAt,
} from '../../../../support/oidc/refresh.ts'
import {
  signInAtB,
  sourceHostB,
  startSourceHostB,
  USERINFO,
} from '../../../../support/providers/source-host-b.ts'

/** An account of a stand-in, which has signed in with groups, and the provider. */
async function signedIn(groups: readonly string[] = []) {
  const forger = await startSourceHostB()
  forger.token = { refresh_token: 'refresh secret 1' }
  const account = accountOf(await signInAtB(forger, { groups: [...groups] }))
  return {
    forger,
    account,
    provider: sourceHostB({ baseURL: forger.issuer, groups: [...groups] }),
  }
}

test.each([
  { name: 'an ID token', hasIdToken: true },
  { name: 'no ID token', hasIdToken: false },
])('names and groups come from userinfo, with $name in the answer (25.7)', async (row) => {
  const { forger, account, provider } = await signedIn()
  await rotateAt(forger, { sub: '4711', groups: ['of-the-token'] })
  if (!row.hasIdToken) forger.token = ROTATED
  forger.userinfo = { ...USERINFO, preferred_username: 'byron', groups: ['staff/oncall'] }
  const { outcome, kept } = await askAgain(provider, account)
  expect(outcome).toMatchObject({
    subject: account.subject,
    username: 'byron',
    groups: [{ name: 'staff/oncall' }],
    tokens: ROTATED_TOKENS,
  })
  expect(kept).toMatchObject([ROTATED_TOKENS])
})

const ROTATED_TOKENS = { accessToken: 'access secret 2', refreshToken: 'refresh secret 2' }

test('a person who has left the required group is refused (25.7)', async () => {
  const { forger, account, provider } = await signedIn(['staff'])
  await rotateAt(forger, { sub: '4711' })
  forger.userinfo = { ...USERINFO, groups: ['guests'] }
  expect((await askAgain(provider, account)).outcome).toMatchObject({
    reason: 'groups_required',
    detail: 'groups',
  })
})

test('userinfo of another person is refused, and so is none (25.7)', async () => {
  const { forger, account, provider } = await signedIn()
  await rotateAt(forger, { sub: '4711' })
  forger.userinfo = { ...USERINFO, sub: '4712' }
  expect((await askAgain(provider, account)).outcome).toMatchObject({ reason: 'provider_answer' })
  forger.answers.set('/userinfo', { status: 500, body: '' })
  expect((await askAgain(provider, account)).outcome).toMatchObject({
    reason: 'provider_unreachable',
  })
})

test('an account of another baseURL is none of it (24.3, 25.7)', async () => {
  const { account, provider } = await signedIn()
  expect(refreshOf(provider).knows(account.subject)).toBe(true)
  const moved = sourceHostB({ baseURL: 'https://gitlab.example.com' })
  expect(refreshOf(moved).knows(account.subject)).toBe(false)
})
