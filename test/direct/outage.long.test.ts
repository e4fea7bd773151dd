/** @module-tag no-retry */
// What a direct endpoint does while the platform is away, wrong or restored from a backup, and while its own process,
// state or clock fails: it goes on with what it knows, for --max-staleness, and never forgets a revocation (contract
// 2.9, 9.2; threats D4, D8).
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { eventually, eventuallyPasses, staysTrue } from '../support/eventually.ts'
import { metric } from '../support/metrics-page.ts'
import { clockAheadEnv, steppedClock } from '../support/stepped-clock.ts'
import { rounds } from '../support/tier.ts'
import { type DirectEndpoint, startDirectCluster } from './direct-cluster.ts'
import { grantReading } from './direct-objects.ts'
import { openStreams } from './direct-streams.ts'
import { type Members, claimsIn, forge } from './forged-tokens.ts'
import {
  type ListAnswer,
  type ServedList,
  completeNow,
  revocationList,
  startCachingProxy,
} from './issuer-servers.ts'
import { startTokenPlatform } from './token-platform.ts'

const SOON = { withinMs: 30_000 }
const HOUR_MS = 3_600_000

const proxy = await startCachingProxy(300)
const platform = await startTokenPlatform(proxy)
const cluster = await startDirectCluster(platform)
await grantReading(cluster, 'shop', 'platform:group:dev')
const VERSION = '/kubernetes/cluster/version'
const SHOP = '/kubernetes/cluster/api/v1/namespaces/shop/configmaps'
const key = await platform.signingKey(1)
const issued = claimsIn(await platform.issueToken())
const revoked = await platform.issueToken()
await platform.revoke(revoked)
const revokedId = String(claimsIn(revoked)['jti'])

afterEach(() => {
  proxy.setAway(false)
  proxy.setList(null)
})

/** A token that is valid from now, or from another second, for two hours. */
function tokenOf(different: Members = {}, fromSeconds = Math.floor(Date.now() / 1000)): string {
  const times = { iat: fromSeconds, nbf: fromSeconds, exp: fromSeconds + 7200 }
  return forge(key, { ...issued, ...times, jti: randomUUID(), ...different })
}

/** The token of a client that has had it for ten minutes. */
const valid = tokenOf({}, Math.floor(Date.now() / 1000) - 600)

const root = mkdtempSync(join(tmpdir(), 'outage-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const newStateDir = (): string => mkdtempSync(join(root, 'state-'))

const codeOf = async (endpoint: DirectEndpoint, token: string): Promise<number> =>
  (await endpoint.call(VERSION, token)).code
const codesOf = (endpoint: DirectEndpoint, ...tokens: readonly string[]) =>
  Promise.all(tokens.map((token) => codeOf(endpoint, token)))
const untilCode = (endpoint: DirectEndpoint, token: string, code: number) =>
  eventuallyPasses(
    `a token is answered ${code}`,
    async () => expect(await codeOf(endpoint, token)).toBe(code),
    SOON,
  )
/** Waits until the endpoint has refused so many polls more. */
async function untilPolled(endpoint: DirectEndpoint, result: string, times = 2): Promise<void> {
  const count = () =>
    metric(
      endpoint.process,
      'platform_direct_issuer_polls_total',
      'document="revoked"',
      `result="${result}"`,
    )
  const before = await count()
  await eventually(
    `${times} polls are ${result}`,
    async () => (await count()) >= before + times || undefined,
    SOON,
  )
}
/** Waits until a file of state has the text. */
const untilKept = (stateDir: string, text: string): Promise<true> =>
  eventually(
    `the state has ${text}`,
    () => {
      const files = readdirSync(stateDir).filter((name) => name.endsWith('.jsonl'))
      const isIn = (name: string) => readFileSync(join(stateDir, name), 'utf8').includes(text)
      return files.some(isIn) || undefined
    },
    SOON,
  )
const unchecked = { code: 503, body: expect.stringContaining('cannot tell now') as unknown }

test('an outage shorter than --max-staleness is not noticed; a longer one ends streams and requests, and then its end does all by itself (9.2)', async () => {
  const endpoint = await cluster.startEndpoint(['--max-staleness=20s'])
  const inOutage = await platform.issueToken()
  const streams = await openStreams(endpoint, SHOP, valid)
  await platform.stopIssuer()
  const stoppedMs = Date.now()
  await staysTrue(
    'tokens are accepted',
    async () => expect(await codeOf(endpoint, valid)).toBe(200),
    { forMs: 8000 },
  )
  await eventuallyPasses(
    'tokens are refused as unchecked',
    async () => expect(await endpoint.call(VERSION, valid)).toMatchObject(unchecked),
    SOON,
  )
  const staleAfterMs = Date.now() - stoppedMs
  console.log(`measured: outage, ms from its begin to the first refusal: ${staleAfterMs}`)
  expect(staleAfterMs).toBeLessThan(20_000 + 2500)
  await Promise.all(streams.map(({ ended }) => ended))
  for (const { lastWords } of streams) expect(lastWords()).toContain('cannot tell now')
  expect(
    await metric(endpoint.process, 'platform_direct_revocation_list_age_seconds'),
  ).toBeGreaterThan(18)
  expect((await endpoint.process.health('/readyz')).code).toBe(200)

  await platform.deleteToken(inOutage)
  const startedMs = Date.now()
  await platform.startIssuer()
  await untilCode(endpoint, valid, 200)
  console.log(
    `measured: outage, ms from the start of the issuer to the first acceptance: ${Date.now() - startedMs}`,
  )
  expect(await codeOf(endpoint, inOutage)).toBe(401)
})

describe('a list that must not be taken leaves the last one in force, and is counted (9.2)', async () => {
  const endpoint = await cluster.startEndpoint()
  const now = (): string => new Date().toISOString()
  const lists: readonly { name: string; of: (list: ServedList) => ListAnswer }[] = [
    { name: 'a shortened one', of: () => revocationList({}, now()) },
    {
      name: 'one of an hour ago, as from a backup',
      of: ({ tokens }) => revocationList(tokens, new Date(Date.now() - HOUR_MS).toISOString()),
    },
    {
      name: 'one of the future',
      of: ({ tokens }) => revocationList(tokens, new Date(Date.now() + HOUR_MS).toISOString()),
    },
    {
      name: 'one with an earlier end of a token',
      of: ({ tokens }) => revocationList({ ...tokens, [revokedId]: '2026-01-01T00:00:00Z' }, now()),
    },
    {
      name: 'half a list',
      of: (list) => ({ code: 200, body: completeNow(list).body.slice(0, -10) }),
    },
    { name: 'a page of a proxy', of: () => ({ code: 200, body: '<html>Sign in</html>' }) },
  ]

  test.each(lists)('$name', async ({ of }) => {
    await untilCode(endpoint, revoked, 401)
    const count = () => metric(endpoint.process, 'platform_direct_revocations_refused_total')
    const before = await count()
    proxy.setList(of)
    await untilPolled(endpoint, 'refused')
    expect(await count()).toBeGreaterThanOrEqual(before + 2)
    expect(await codesOf(endpoint, revoked, valid)).toEqual([401, 200])
    proxy.setList(null)
    await untilPolled(endpoint, 'ok', 1)
  })
})

describe('a restart while the platform is away (9.2)', () => {
  test('with --state-dir goes on with what was known: revoked tokens stay revoked', async () => {
    const stateDir = newStateDir()
    const state = [`--state-dir=${stateDir}`]
    const first = await cluster.startEndpoint(state)
    const late = await platform.issueToken()
    expect(await codesOf(first, late, valid, revoked)).toEqual([200, 200, 401])
    await platform.revoke(late)
    await untilCode(first, late, 401)
    const refusedMs = Date.now()
    await untilKept(stateDir, String(claimsIn(late)['jti']))
    console.log(`measured: state, ms from the first refusal to the disk: ${Date.now() - refusedMs}`)
    first.process.kill('SIGKILL')
    await first.process.exited
    proxy.setAway(true)
    const startMs = Date.now()
    const second = await cluster.startEndpoint(state)
    console.log(`measured: restart by state, ms to ready: ${Date.now() - startMs}`)
    expect(await codesOf(second, late, valid, revoked)).toEqual([401, 200, 401])
  })

  test('without a state accepts nothing and is not ready, until the platform is back', async () => {
    proxy.setAway(true)
    const state = [`--state-dir=${newStateDir()}`]
    const endpoint = await cluster.startEndpoint(state, { until: 'serving' })
    await staysTrue(
      'nothing is accepted',
      async () => {
        expect(await endpoint.call(VERSION, valid)).toMatchObject(unchecked)
        const { code, body } = await endpoint.process.health('/readyz?verbose')
        expect(code).toBe(500)
        for (const fault of [
          'no public signing keys are known',
          'no list of revoked tokens is known',
        ])
          expect(body).toContain(fault)
      },
      { forMs: 3000 },
    )
    proxy.setAway(false)
    await untilCode(endpoint, valid, 200)
    expect(await codeOf(endpoint, revoked)).toBe(401)
    expect((await endpoint.process.health('/readyz')).code).toBe(200)
  })
})

const HOSTNAME = pathToFileURL(join(import.meta.dirname, '../support/hostname-preload.ts')).href
/** Variables of a replica in a pod of that name. */
const podEnv = (name: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import ${HOSTNAME}`,
  HOSTNAME_OF_TEST: name,
})

test('replicas that share a state directory have a file each, and know after a restart what any of them knew (9.2)', async () => {
  const stateDir = newStateDir()
  const state = [`--state-dir=${stateDir}`]
  const start = (name: string) => cluster.startEndpoint(state, { env: podEnv(name) })
  const [a, b] = await Promise.all([start('direct-a'), start('direct-b')])
  const files = ['state-direct-a.jsonl', 'state-direct-b.jsonl']
  await eventuallyPasses(
    'both have written',
    () => expect(readdirSync(stateDir).toSorted()).toEqual(files),
    SOON,
  )
  for (const file of files) expect(statSync(join(stateDir, file)).mode & 0o777).toBe(0o600)
  await b.process.stop()
  const late = await platform.issueToken()
  await platform.revoke(late)
  await untilCode(a, late, 401)
  await a.process.stop()

  // Another one began without these files, while the platform had lost its revocations.
  proxy.setList(() => revocationList({}, new Date().toISOString()))
  const elsewhere = newStateDir()
  const c = await cluster.startEndpoint([`--state-dir=${elsewhere}`], { env: podEnv('direct-c') })
  await untilKept(elsewhere, key.kid)
  await c.process.stop()
  cpSync(elsewhere, stateDir, { recursive: true })
  proxy.setAway(true)
  const again = await start('direct-b')
  expect(await codesOf(again, late, valid)).toEqual([401, 200])
})

test.each(rounds)(
  'an endpoint that is killed while it writes its state knows all of it after a restart, round %i (9.2)',
  async () => {
    const stateDir = newStateDir()
    const state = [`--state-dir=${stateDir}`]
    const end = new Date(Date.now() + HOUR_MS).toISOString()
    const many = Object.fromEntries(Array.from({ length: 50_000 }, () => [randomUUID(), end]))
    // Another list at each poll, so that there is always something to write.
    proxy.setList(({ tokens }) => completeNow({ asOf: '', tokens: { ...many, ...tokens } }))
    const [someId = ''] = Object.keys(many)
    const some = tokenOf({ jti: someId })
    for (let kills = 0; kills < 5; kills += 1) {
      const endpoint = await cluster.startEndpoint(state)
      await untilCode(endpoint, some, 401)
      await untilKept(stateDir, someId)
      await untilKept(stateDir, key.kid)
      await killedInWrite(endpoint, stateDir)
      console.log(`killed with ${readdirSync(stateDir).join(' and ')}`)
      proxy.setAway(true)
      const restarted = await cluster.startEndpoint(state)
      expect(await codesOf(restarted, some, revoked, valid)).toEqual([401, 401, 200])
      await restarted.process.stop()
      proxy.setAway(false)
    }
  },
)

/** Kills the endpoint as soon as it has begun to write a file. */
async function killedInWrite({ process }: DirectEndpoint, stateDir: string): Promise<void> {
  const watcher = watch(stateDir, (_, name) => {
    if (name?.endsWith('.new')) process.kill('SIGKILL')
  })
  try {
    expect(await process.exited).toEqual({ code: null, signal: 'SIGKILL' })
  } finally {
    watcher.close()
  }
}

describe('a clock of the endpoint that is an hour wrong (2.9, 9.2)', () => {
  const clock = steppedClock()
  const seconds = (): number => Math.floor(Date.now() / 1000)
  /** It ended a minute ago. */
  const ended = (): string => tokenOf({ exp: seconds() - 60 }, seconds() - 600)

  test('behind, with the platform: tokens end on time', async () => {
    const env = clockAheadEnv(-HOUR_MS)
    const endpoint = await cluster.startEndpoint(['--max-staleness=1m'], { env })
    const tokens = [tokenOf(), valid, ended(), revoked]
    expect(await codesOf(endpoint, ...tokens)).toEqual([200, 200, 401, 401])
    const skew = await metric(endpoint.process, 'platform_direct_clock_skew_seconds')
    expect(Math.abs(skew + 3600)).toBeLessThan(10)
    proxy.setAway(true)
    await untilPolled(endpoint, 'failed')
    expect(await codesOf(endpoint, ...tokens)).toEqual([200, 200, 401, 401])
  })

  test('stepped ahead, with the platform: tokens end too early, and the list is as old as it is', async () => {
    const endpoint = await cluster.startEndpoint(['--max-staleness=1m'], { env: clock.env })
    const short = tokenOf({ exp: seconds() + 1800 })
    expect(await codesOf(endpoint, tokenOf(), short, revoked)).toEqual([200, 200, 401])
    await clock.step(endpoint.process, HOUR_MS)
    expect(await codesOf(endpoint, tokenOf(), short, revoked)).toEqual([200, 401, 401])
    await untilPolled(endpoint, 'ok', 1)
    expect(await codesOf(endpoint, tokenOf(), short, revoked)).toEqual([200, 401, 401])
    proxy.setAway(true)
    await untilPolled(endpoint, 'failed')
    expect(await codesOf(endpoint, tokenOf(), short, revoked)).toEqual([200, 401, 401])
  })

  test.each([
    { name: 'behind', aheadMs: -HOUR_MS, maxStaleness: '5m', codes: [200, 401, 401] },
    { name: 'ahead', aheadMs: HOUR_MS, maxStaleness: '2h', codes: [200, 401, 401] },
    {
      name: 'ahead by more than --max-staleness',
      aheadMs: HOUR_MS,
      maxStaleness: '30m',
      codes: [503, 401, 401],
    },
  ])('$name, after a restart without the platform: never a token more', async (row) => {
    const { aheadMs, maxStaleness, codes } = row
    const state = [`--state-dir=${newStateDir()}`]
    const first = await cluster.startEndpoint(state)
    await untilCode(first, valid, 200)
    await first.process.stop()
    proxy.setAway(true)
    const flags = [...state, `--max-staleness=${maxStaleness}`]
    const env = clockAheadEnv(aheadMs)
    const endpoint = await cluster.startEndpoint(flags, { env, until: 'serving' })
    expect(await codesOf(endpoint, valid, ended(), revoked)).toEqual(codes)
    proxy.setAway(false)
    await untilCode(endpoint, valid, 200)
    expect(await codesOf(endpoint, ended(), revoked)).toEqual([401, 401])
  })
})
