/** @module-tag no-retry */
// Lists of GitHub, page by page: half a list is none (contract 25.6, SD).
import { describe, expect, test } from 'vitest'
import { type HostAccount, hostAccount } from '../../../../support/providers/source-host-a.ts'
import { hostOfTest, signInAt } from '../../../../support/providers/source-host-a-sign-in.ts'

const ACME = { orgs: [{ name: 'acme' }] }
const TEAMS = '/api/v3/user/teams'
const TEAM = '{"slug":"sre","name":"SRE","organization":{"login":"acme"}}'

/** A member of this many teams of acme. */
const memberOf = (count: number): HostAccount =>
  hostAccount({
    orgs: ['acme'],
    teams: Array.from({ length: count }, (_, at) => ['acme', `team-${at}`, `Team ${at}`] as const),
  })

describe('every page of a list', () => {
  test('is read, as many as there are up to 20 (25.6)', async () => {
    const host = await hostOfTest()
    host.account = memberOf(250)
    const { groups } = await signInAt(host, ACME)
    expect(groups).toHaveLength(250)
    expect(groups.at(-1)?.name).toBe('acme:team-249')
    expect(host.requests.filter(({ path }) => path === TEAMS)).toHaveLength(3)
    host.largestPage = 10
    host.account = memberOf(200)
    expect((await signInAt(host, ACME)).groups).toHaveLength(200)
  })

  test.each([
    { name: 'an organization', settings: { orgs: [{ name: 'last' }] }, found: { groups: [] } },
    { name: 'an e-mail address', settings: {}, found: { email: 'ada@example.com' } },
  ])('is read for $name, too (25.6)', async ({ settings, found }) => {
    const host = await hostOfTest()
    host.largestPage = 2
    const other = { email: 'x@example.com', primary: false, verified: true }
    const emails = [other, other, { email: 'ada@example.com', primary: true, verified: true }]
    host.account = hostAccount({ orgs: ['a', 'b', 'last'], emails })
    expect(await signInAt(host, settings)).toMatchObject(found)
  })
})

describe('a list that is not read to its end refuses', () => {
  test.each([
    { status: 403, reason: 'provider_answer' },
    { status: 502, reason: 'provider_unreachable' },
  ])('for $status of the e-mail addresses, as $reason (25.5)', async ({ status, reason }) => {
    const host = await hostOfTest()
    host.answers.set('/api/v3/user/emails', { status, body: '{"message":"a secret"}' })
    await expect(signInAt(host, {})).rejects.toMatchObject({ reason })
  })

  test('for more than 20 pages (25.6, SD)', async () => {
    const host = await hostOfTest()
    host.largestPage = 10
    host.account = memberOf(201)
    await expect(signInAt(host, ACME)).rejects.toMatchObject({ reason: 'groups_unreadable' })
    expect(host.requests.filter(({ path }) => path === TEAMS)).toHaveLength(20)
  })

  test.each([
    { entries: 5000, found: 'admits' },
    { entries: 5001, found: 'groups_unreadable' },
  ])('for 5,001 entries, not for 5,000: $entries $found (25.6, SD)', async ({ entries, found }) => {
    const host = await hostOfTest()
    host.account = memberOf(1)
    let left = entries
    // Pages of 2,500: more than this product asks for.
    host.answers.set(TEAMS, (response) => {
      const count = Math.min(left, 2500)
      left -= count
      if (left > 0) response.setHeader('link', `<${host.url}${TEAMS}?page=2>; rel="next"`)
      response.end(`[${Array.from({ length: count }, () => TEAM).join(',')}]`)
    })
    const outcome = signInAt(host, ACME).then(
      () => 'admits',
      ({ reason }: { reason: string }) => reason,
    )
    expect(await outcome).toBe(found)
  })

  test('for pages without an end (25.6, SD)', async () => {
    const host = await hostOfTest()
    host.account = memberOf(1)
    host.answers.set(TEAMS, (response) => {
      response.setHeader('link', `<${host.url}${TEAMS}>; rel="next"`)
      response.end('[]')
    })
    await expect(signInAt(host, ACME)).rejects.toMatchObject({
      reason: 'groups_unreadable',
      because: '/user/teams has more than 20 pages',
    })
  })

  test('for a next page at another server, which gets neither request nor token (25.6, SJ)', async () => {
    const [host, other] = [await hostOfTest(), await hostOfTest()]
    host.account = memberOf(1)
    host.answers.set(TEAMS, (response) => {
      response.setHeader('link', `<${other.url}${TEAMS}?page=2>; rel="next"`)
      response.end('[]')
    })
    await expect(signInAt(host, ACME)).rejects.toMatchObject({
      reason: 'groups_unreadable',
      because: '/user/teams goes on at another server',
    })
    expect(other.requests).toEqual([])
  })

  test.each<{ name: string; status: number; body: string }>([
    { name: '403 for too many requests', status: 403, body: '{"message":"a secret"}' },
    { name: '403 beside a whole list', status: 403, body: `[${TEAM}]` },
    { name: '429 for too many requests', status: 429, body: '{"message":"a secret"}' },
    { name: '404', status: 404, body: '{"message":"a secret"}' },
    { name: '502', status: 502, body: 'a secret' },
    { name: '301', status: 301, body: '' },
    { name: 'no list', status: 200, body: '{"a secret":1}' },
    { name: 'a list of texts', status: 200, body: '["a secret"]' },
    { name: 'a list of nothing', status: 200, body: '[null]' },
    {
      name: 'a name of 1,025 characters',
      status: 200,
      body: `[${TEAM.replace('SRE', 'x'.repeat(1025))}]`,
    },
    { name: 'HTML', status: 200, body: '<html>a secret' },
    { name: 'half a list', status: 200, body: '[{"slug":"sre","name":"a sec' },
    {
      name: 'a team without a slug',
      status: 200,
      body: '[{"name":"a","organization":{"login":"acme"}}]',
    },
    { name: 'a team without an organization', status: 200, body: '[{"name":"a","slug":"a"}]' },
    { name: '30,000 values', status: 200, body: `[${'{"a":1},'.repeat(30_000)}{}]` },
    { name: 'more than 1 MiB', status: 200, body: `["${'x'.repeat(1_048_577)}"]` },
  ])('for a page that is answered with $name (25.5, 25.6, SD)', async ({ status, body }) => {
    const host = await hostOfTest()
    host.account = memberOf(1)
    host.answers.set(TEAMS, { status, body })
    const refused = signInAt(host, ACME)
    await expect(refused).rejects.toMatchObject({ reason: 'groups_unreadable' })
    await expect(refused).rejects.not.toThrow(/secret/)
  })

  test('for a second page that breaks off (25.6, SD)', async () => {
    const host = await hostOfTest()
    host.account = memberOf(1)
    let page = 0
    host.answers.set(TEAMS, (response) => {
      page += 1
      response.setHeader('link', `<${host.url}${TEAMS}?page=2>; rel="next"`)
      if (page === 2) response.destroy()
      else response.end(`[${TEAM}]`)
    })
    await expect(signInAt(host, ACME)).rejects.toMatchObject({ reason: 'groups_unreadable' })
    expect(page).toBe(2)
  })

  test('for the scope that the person took away (25.6)', async () => {
    const host = await hostOfTest()
    host.account = memberOf(1)
    host.withheld = ['read:org']
    await expect(signInAt(host, ACME)).rejects.toMatchObject({ reason: 'groups_unreadable' })
    host.withheld = ['user:email']
    await expect(signInAt(host, ACME)).rejects.toMatchObject({ reason: 'provider_answer' })
  })

  test('when its caller leaves, at once (25.6)', async () => {
    const host = await hostOfTest()
    host.account = memberOf(1)
    const caller = new AbortController()
    host.answers.set(TEAMS, () => caller.abort())
    const startedMs = performance.now()
    await expect(signInAt(host, ACME, caller.signal)).rejects.toMatchObject({
      reason: 'groups_unreadable',
    })
    expect(performance.now() - startedMs).toBeLessThan(5000)
    expect(host.requests.at(-1)?.path).toBe(TEAMS)
  })
})
