import { describe, expect, test } from 'vitest'
import type { IdpBProvider } from '../../../../../src/api/config.gen.ts'
import { NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import {
  ADA,
  COMPANY,
  groupId,
  type IdpB,
  idpB,
  issuerOf,
  PERSONAL,
  signInAtB,
  startIdpB,
} from '../../../../support/providers/idp-b.ts'
import type { ApiAnswer } from '../../../../support/providers/json-api.ts'
import { outcomeOf } from '../../../../support/providers/sign-in.ts'

const ME = '/v1.0/me'
const GROUPS = '/v1.0/me/getMemberGroups'
const NAMES = '/v1.0/directoryObjects/getByIds'

const asked = ({ graph }: IdpB, wanted: string) =>
  graph.requests.filter(({ path }) => path === wanted)

/** Answers one path of Graph. */
const answering = (microsoft: IdpB, path: string, answer: ApiAnswer): void =>
  void Object.assign(microsoft, {
    answer: (request: { readonly path: string }) => (request.path === path ? answer : undefined),
  })

const numbers = (count: number, first = 0): readonly number[] =>
  Array.from({ length: count }, (_, at) => first + at)

describe('a person of Microsoft', () => {
  test('has the name of Graph, and an e-mail that is never trusted (24.3, 25.6, SC)', async () => {
    const microsoft = await startIdpB('common')
    microsoft.forger.token = { refresh_token: 'a refresh token' }
    const { tokens, ...identity } = await signInAtB(microsoft)
    expect(identity).toEqual({
      subject: `${issuerOf(microsoft, COMPANY)}#${ADA}`,
      username: 'ada@example.com',
      displayName: 'Ada Lovelace',
      email: 'ceo@example.com',
      emailVerified: false,
      userId: ADA,
      preferredUsername: 'ada.l@example.com',
      extraClaims: {},
      groups: [1, 2, 3].map((at) => ({ name: groupId(at), displayName: `Group ${at}` })),
      groupsPrefix: '',
    })
    expect(tokens.refreshToken).toBe('a refresh token')
  })

  test('is another one in another tenant, by the same object and name (24.3, SC)', async () => {
    const microsoft = await startIdpB('common')
    const other = '33333333-aaaa-4bbb-8ccc-0123456789ab'
    const subjects = [
      (await signInAtB(microsoft)).subject,
      (await signInAtB(microsoft, {}, { tenant: other })).subject,
    ]
    expect(new Set(subjects).size).toBe(2)
  })

  test.each<{ name: string; answer: ApiAnswer; reason: string }>([
    {
      name: 'another person',
      answer: { body: { id: COMPANY, userPrincipalName: 'ada' } },
      reason: 'provider_answer',
    },
    {
      name: 'a text that names no person',
      answer: { body: { userPrincipalName: 'ada' } },
      reason: 'provider_answer',
    },
    {
      name: 'an error in 200',
      answer: { body: { error: { code: 'x' } } },
      reason: 'provider_answer',
    },
    { name: '401', answer: { status: 401, body: {} }, reason: 'provider_answer' },
    { name: '429', answer: { status: 429, body: {} }, reason: 'provider_answer' },
    { name: '500', answer: { status: 500, body: 'a secret' }, reason: 'provider_unreachable' },
  ])('is refused where Graph answers $name (25.6, SC)', async ({ answer, reason }) => {
    const microsoft = await startIdpB('common')
    answering(microsoft, ME, answer)
    const refused = signInAtB(microsoft)
    await expect(refused).rejects.toMatchObject({ reason })
    await expect(refused).rejects.not.toThrow(/secret/)
  })
})

test('A person of Microsoft without userPrincipalName has no other name (25.6)', async () => {
  const microsoft = await startIdpB('common')
  microsoft.me = { id: ADA, userPrincipalName: null }
  expect(await signInAtB(microsoft)).toMatchObject({ username: null })
})

describe('the groups of a person of Microsoft', () => {
  test('are the ids on every page (25.6)', async () => {
    const microsoft = await startIdpB('common')
    microsoft.pages = [[1], [2, 3], [3]]
    const { groups } = await signInAtB(microsoft)
    expect(groups.map(({ name }) => name)).toEqual([1, 2, 3].map(groupId))
    expect(asked(microsoft, GROUPS)).toHaveLength(3)
  })

  test.each<{ settings: IdpBProvider; found: readonly number[] }>([
    { settings: {}, found: [1, 2, 3] },
    { settings: { onlySecurityGroups: true }, found: [2] },
    { settings: { groups: [groupId(3), groupId(9)] }, found: [1, 2, 3] },
    { settings: { groups: [groupId(3).toUpperCase()] }, found: [1, 2, 3] },
    { settings: { groups: [groupId(3), groupId(9)], useGroupsAsWhitelist: true }, found: [3] },
    { settings: { useGroupsAsWhitelist: true }, found: [1, 2, 3] },
  ])('are $found with $settings (25.6, SD)', async ({ settings, found }) => {
    const { groups } = await signInAtB(await startIdpB('common'), settings)
    expect(groups.map(({ name }) => name)).toEqual(found.map(groupId))
  })

  test.each<{ name: string; settings: IdpBProvider }>([
    { name: 'none of groups', settings: { groups: [groupId(9)] } },
    {
      name: 'no security group of groups',
      settings: { groups: [groupId(1)], onlySecurityGroups: true },
    },
    {
      name: 'none of the listed groups',
      settings: { groups: [groupId(9)], useGroupsAsWhitelist: true },
    },
  ])('refuse who is in $name (25.6, SD)', async ({ settings }) => {
    await expect(signInAtB(await startIdpB('common'), settings)).rejects.toMatchObject({
      reason: 'groups_required',
      detail: 'groups',
    })
  })

  test('of a group that has the name of one, count not: ids alone are settings (25.6, SD)', async () => {
    const provider = idpB(await startIdpB('common'), { groups: [groupId(1), 'Group 1'] })
    await expect(provider.begin(SECRETS, NO_END)).rejects.toMatchObject({
      reason: 'provider_unusable',
      because: 'groups must be object ids: display names are not unique',
    })
    expect((await provider.check(NO_END)).fault).toContain('object ids')
  })

  test('of a personal account are none, and not asked for (25.6)', async () => {
    const microsoft = await startIdpB('common')
    microsoft.me = { id: '48d31887', userPrincipalName: 'ada@outlook.com' }
    const found = await signInAtB(microsoft, {}, { tenant: PERSONAL })
    expect(found).toMatchObject({ username: 'ada@outlook.com', groups: [] })
    expect(microsoft.graph.requests.map(({ path }) => path)).toEqual([ME])
    const required = signInAtB(microsoft, { groups: [groupId(1)] }, { tenant: PERSONAL })
    await expect(required).rejects.toMatchObject({ reason: 'groups_required' })
  })

  test('come from Graph, whatever the token says of groups (25.6)', async () => {
    const claims = { groups: ['x'], _claim_names: { groups: 'src1' } }
    const { groups } = await signInAtB(await startIdpB('common'), {}, claims)
    expect(groups).toHaveLength(3)
  })
})

const TOO_MANY = { error: { code: 'Directory_ResultSizeLimitExceeded', message: 'a secret' } }

describe('a look-up of groups at Microsoft', () => {
  test.each<{ name: string; answer: ApiAnswer }>([
    { name: 'of 500', answer: { status: 500, body: 'a secret' } },
    { name: 'of 429', answer: { status: 429, headers: { 'retry-after': '9' }, body: {} } },
    { name: 'of 403 without permission', answer: { status: 403, body: TOO_MANY } },
    { name: 'of 403 that has a list', answer: { status: 403, body: { value: [groupId(1)] } } },
    { name: 'of 400 by too many groups', answer: { status: 400, body: TOO_MANY } },
    { name: 'with an error in 200', answer: { body: TOO_MANY } },
    { name: 'that redirects', answer: { status: 307, headers: { location: '/' }, body: '' } },
    { name: 'with names', answer: { body: { value: ['Group 1'] } } },
    { name: 'with a map', answer: { body: { value: {} } } },
    { name: 'that stops half way', answer: { body: { value: [groupId(1)] }, cutAfterBytes: 9 } },
    { name: 'that goes on nowhere', answer: { body: { value: [], '@odata.nextLink': 7 } } },
    { name: 'that goes on at no URL', answer: { body: { value: [], '@odata.nextLink': '/x' } } },
  ])('$name is groups_unreadable, and not quoted (25.6, SD)', async ({ answer }) => {
    const microsoft = await startIdpB('common')
    answering(microsoft, GROUPS, answer)
    const refused = signInAtB(microsoft)
    await expect(refused).rejects.toMatchObject({ reason: 'groups_unreadable' })
    await expect(refused).rejects.not.toThrow(/secret/)
  })

  test('that leads to another origin does not take the token there (25.6, SD, SJ)', async () => {
    const microsoft = await startIdpB('common')
    const elsewhere = await startIdpB('common')
    const next = `${elsewhere.graph.origin}${GROUPS}?$skiptoken=1`
    answering(microsoft, GROUPS, { body: { value: [], '@odata.nextLink': next } })
    await expect(signInAtB(microsoft)).rejects.toMatchObject({
      reason: 'groups_unreadable',
      because: 'a page of the list is at another origin',
    })
    expect(elsewhere.graph.requests).toEqual([])
  })

  test('that pages for ever ends after 20 pages (25.6, SD)', async () => {
    const microsoft = await startIdpB('common')
    const next = `${microsoft.graph.origin}${GROUPS}`
    answering(microsoft, GROUPS, { body: { value: [groupId(1)], '@odata.nextLink': next } })
    await expect(signInAtB(microsoft)).rejects.toMatchObject({
      reason: 'groups_unreadable',
      because: 'the list has more than 20 pages',
    })
    expect(asked(microsoft, GROUPS)).toHaveLength(20)
  })

  test.each([
    { entries: 5000, isRead: true },
    { entries: 5001, isRead: false },
  ])('of $entries entries is read or refused (25.6, SD)', async ({ entries, isRead }) => {
    const microsoft = await startIdpB('common')
    microsoft.pages = [numbers(entries)]
    const found = signInAtB(microsoft)
    expect(await outcomeOf(found)).toMatchObject(
      isRead ? { groups: { length: entries } } : { reason: 'groups_unreadable' },
    )
    expect(asked(microsoft, NAMES).length).toBeLessThanOrEqual(20)
  })
})

describe('the names of groups of Microsoft', () => {
  test('are asked for by 250 ids at once, of the groups that count (25.6)', async () => {
    const microsoft = await startIdpB('common')
    microsoft.pages = [numbers(251)]
    const { groups } = await signInAtB(microsoft)
    expect(groups.at(-1)).toEqual({ name: groupId(250), displayName: 'Group 250' })
    const whitelist = { groups: [groupId(7)], useGroupsAsWhitelist: true }
    await signInAtB(microsoft, whitelist)
    const ids = asked(microsoft, NAMES).map(({ body }) => (JSON.parse(body) as { ids: [] }).ids)
    expect(ids.map(({ length }) => length)).toEqual([250, 1, 1])
  })

  test.each<{ name: string; answer: ApiAnswer }>([
    { name: '403', answer: { status: 403, body: {} } },
    { name: '500', answer: { status: 500, body: '' } },
    { name: 'HTML', answer: { body: '<html>' } },
    { name: 'no list', answer: { body: { value: {} } } },
    { name: 'ids alone', answer: { body: { value: [{ id: groupId(1), displayName: null }, 7] } } },
  ])('are left out where Graph answers $name: they grant nothing (25.6)', async ({ answer }) => {
    const microsoft = await startIdpB('common')
    answering(microsoft, NAMES, answer)
    const { groups } = await signInAtB(microsoft)
    expect(groups).toEqual([1, 2, 3].map((at) => ({ name: groupId(at), displayName: null })))
  })
})
