import { describe, expect, test } from 'vitest'
import type { SourceHostBProvider } from '../../../../../src/api/config.gen.ts'
import { CLIENT_ID, startForgedProvider } from '../../../../support/oidc/forged-provider.ts'
import { chooseAt, startIdentityProvider } from '../../../../support/oidc/identity-provider.ts'
import { beginAt, NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import { parametersAt } from '../../../../support/providers/sign-in.ts'
import {
  signInAtB,
  sourceHostB,
  startSourceHostB,
  USERINFO,
} from '../../../../support/providers/source-host-b.ts'

describe('a person of GitLab', () => {
  test('has the name and the groups of userinfo (24.3, 25.6)', async () => {
    const forger = await startSourceHostB()
    const { tokens, ...identity } = await signInAtB(forger)
    expect(identity).toEqual({
      subject: `${forger.issuer}#4711`,
      username: 'ada',
      displayName: 'Ada Lovelace',
      email: 'ada@example.com',
      emailVerified: true,
      userId: '4711',
      preferredUsername: 'ada',
      extraClaims: {},
      groups: ['staff', 'staff/sre', 'guests'].map((name) => ({ name, displayName: null })),
      groupsPrefix: '',
    })
    expect(tokens.accessToken).toBe('an access token')
  })

  test.each<{ name: string; userinfo: object; identity: object }>([
    {
      name: 'is named by nickname without preferred_username',
      userinfo: { preferred_username: undefined, nickname: 'countess' },
      identity: { username: 'countess', preferredUsername: 'countess' },
    },
    {
      name: 'is named by preferred_username beside a nickname',
      userinfo: { nickname: 'countess' },
      identity: { username: 'ada' },
    },
    {
      name: 'is never named by a verified e-mail',
      userinfo: { preferred_username: undefined, nickname: undefined },
      identity: { username: null },
    },
    {
      name: 'has an e-mail that is not verified',
      userinfo: { email_verified: false },
      identity: { email: 'ada@example.com', emailVerified: false },
    },
    {
      name: 'has no groups but those of userinfo',
      userinfo: { groups: undefined },
      identity: { groups: [] },
    },
  ])('$name (25.6, SC)', async ({ userinfo, identity }) => {
    const forger = await startSourceHostB()
    forger.userinfo = { ...USERINFO, ...userinfo }
    expect(await signInAtB(forger, {}, { groups: ['of-the-token'] })).toMatchObject(identity)
  })

  test('is another one where the connector leads to another host (24.3, SC)', async () => {
    const [one, other] = [await startSourceHostB(), await startSourceHostB()]
    const subjects = [(await signInAtB(one)).subject, (await signInAtB(other)).subject]
    expect(subjects).toEqual([`${one.issuer}#4711`, `${other.issuer}#4711`])
    expect(subjects[0]).not.toBe(subjects[1])
  })
})

describe('setting groups of sourceHostB', () => {
  test('keeps the listed groups alone, where the person is in one (25.6, SD)', async () => {
    const groups = ['staff/sre', 'guests', 'of-others']
    const found = await signInAtB(await startSourceHostB(), { groups })
    expect(found.groups.map(({ name }) => name)).toEqual(['staff/sre', 'guests'])
  })

  test.each([['sre'], ['staff/'], ['STAFF'], ['of-others']])(
    'refuses who is not in %s, exactly (25.6, SD)',
    async (group) => {
      await expect(signInAtB(await startSourceHostB(), { groups: [group] })).rejects.toMatchObject({
        reason: 'groups_required',
        detail: 'groups',
      })
    },
  )

  test.each<{ name: string; groups: unknown; reason: string }>([
    { name: 'that are a map', groups: { staff: true }, reason: 'provider_answer' },
    { name: 'that are numbers', groups: [1], reason: 'provider_answer' },
    {
      name: 'that are 5,001',
      groups: Array.from({ length: 5001 }, (_, at) => `g${at}`),
      reason: 'groups_unreadable',
    },
  ])('refuses groups $name (25.6, SD)', async ({ groups, reason }) => {
    const forger = await startSourceHostB()
    forger.userinfo = { ...USERINFO, groups }
    await expect(signInAtB(forger)).rejects.toMatchObject({ reason })
  })
})

test.each<{ name: string; answer: { status: number; body: string }; reason: string }>([
  { name: '500', answer: { status: 500, body: '' }, reason: 'provider_unreachable' },
  { name: '403', answer: { status: 403, body: '{"error":"x"}' }, reason: 'provider_answer' },
  { name: '429', answer: { status: 429, body: '' }, reason: 'provider_answer' },
  { name: 'an error', answer: { status: 200, body: '{"error":"x"}' }, reason: 'provider_answer' },
  {
    name: 'another person',
    answer: { status: 200, body: '{"sub":"1"}' },
    reason: 'provider_answer',
  },
])('Userinfo of $name is refused (25.6)', async ({ answer, reason }) => {
  const forger = await startSourceHostB()
  forger.answers.set('/userinfo', answer)
  await expect(signInAtB(forger)).rejects.toMatchObject({ reason })
})

test('GitLab gets the secret as it is, for it decodes none (25.6)', async () => {
  const forger = await startSourceHostB()
  forger.discovery = { token_endpoint_auth_methods_supported: ['client_secret_basic'] }
  await signInAtB(forger, { clientSecret: 'gloas-0a_b' })
  const { headers } = forger.requests.find(({ path }) => path === '/token') ?? {}
  expect(headers?.authorization).toBe(`Basic ${btoa(`${CLIENT_ID}:gloas-0a_b`)}`)
})

test('A certified provider signs a person in, by its userinfo (25.6)', async () => {
  const callback = 'https://platform.example.com/auth/sourceHostB/callback'
  const client = { client_id: CLIENT_ID, client_secret: 'a secret', redirect_uris: [callback] }
  const baseURL = await startIdentityProvider([client])
  const provider = sourceHostB({ baseURL })
  const back = await chooseAt(await beginAt(provider), 'ada', callback)
  const found = await provider.finish({ parameters: back.searchParams }, SECRETS, NO_END)
  expect(found).toMatchObject({ subject: `${baseURL}#ada`, username: 'ada', groups: [] })
})

describe('setting baseURL', () => {
  test('leads to a server of the company, below a path too (25.6)', async () => {
    const forger = await startSourceHostB('/git')
    const provider = sourceHostB({ baseURL: forger.issuer })
    expect(provider).toMatchObject({
      kind: 'sourceHostB',
      label: `GitLab (${new URL(forger.issuer).host})`,
    })
    expect(await parametersAt(provider)).toMatchObject({
      client_id: CLIENT_ID,
      scope: 'openid profile email',
      redirect_uri: 'https://platform.example.com/auth/sourceHostB/callback',
      code_challenge_method: 'S256',
    })
    expect(await signInAtB(forger)).toMatchObject({ username: 'ada' })
  })

  test('is the public address where it is absent (25.6)', async () => {
    const forger = await startForgedProvider()
    const provider = sourceHostB({}, { sourceHostB: forger.issuer })
    expect((await provider.begin(SECRETS, NO_END)).url.href).toContain(`${forger.issuer}/authorize`)
    expect(sourceHostB({}).label).toBe('GitLab (gitlab.com)')
  })

  test('equals the issuer byte for byte (25.6)', async () => {
    const forger = await startSourceHostB()
    await expect(signInAtB(forger, { baseURL: `${forger.issuer}/` })).rejects.toMatchObject({
      reason: 'provider_answer',
      because: 'the discovery document names another issuer than baseURL',
    })
  })

  test.each(['http://gitlab.example.com', 'gitlab.example.com', 'https://a:b@gitlab.example.com'])(
    '%s is refused (25.5)',
    async (baseURL) => {
      await expect(sourceHostB({ baseURL }).begin(SECRETS, NO_END)).rejects.toMatchObject({
        reason: 'provider_unusable',
        because: 'baseURL must be an https URL without password, query and fragment',
      })
    },
  )
})

const ADMITS_EVERYBODY = [expect.stringContaining('admits everybody')]

test.each<{ name: string; settings: SourceHostBProvider; isPublic: boolean; warned: boolean }>([
  { name: 'the public address without groups', settings: {}, isPublic: true, warned: true },
  { name: 'empty groups', settings: { groups: [] }, isPublic: true, warned: true },
  { name: 'groups', settings: { groups: ['staff'] }, isPublic: true, warned: false },
  { name: 'a server of the company', settings: {}, isPublic: false, warned: false },
])('SignInReady says whether $name admits everybody (25.6)', async (row) => {
  const { issuer: baseURL } = await startForgedProvider()
  const settings = { baseURL, ...row.settings }
  const provider = sourceHostB(settings, row.isPublic ? { sourceHostB: baseURL } : {})
  expect(await provider.check(NO_END)).toEqual({
    fault: null,
    warnings: row.warned ? ADMITS_EVERYBODY : [],
  })
})
