// The gateway's own metrics after what they count has happened at a real one (contract 15): whatever is not
// wired stays at zero here.
import { get } from 'node:https'
import { afterAll, expect, test } from 'vitest'
import { TOKENS } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { MAX_PER_KEY } from '../../../src/gateway/stages/max-in-flight.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import type { Match } from '../../support/fault-proxy-rules.ts'
import { startProxy } from '../../support/fault-proxy.ts'
import { ask } from '../../support/gateway-process.ts'
import { seriesOf } from '../../support/metrics-text.ts'
import { uniqueName } from '../../support/object-builder.ts'
import type { StoredKey } from '../keys/key-client.ts'
import {
  NOWHERE,
  UPSTREAM,
  WATCHED,
  isAccepted,
  allowWatch,
  polledAnswerOf,
  startAnotherGateway,
} from './gateway-poller.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await privateControlPlane())
const { keys, plane, ca } = front
await allowWatch(front)
const line = await startProxy(plane)
afterAll(() => line[Symbol.asyncDispose]())
const gateway = await startAnotherGateway(front, { line })
afterAll(() => gateway.stop())
// Of several replicas one makes the heartbeat, and counts it.
for (const other of front.gateways) await other.stop()

const SECRETS = `${MANAGEMENT}/api/v1/namespaces/default/secrets`
const OWN_TOKENS = `${MANAGEMENT}${pathOf(TOKENS, {})}`
const isStatusOf =
  ({ metadata: { name } }: StoredKey): Match =>
  ({ method, path }) =>
    method === 'PATCH' && path.endsWith(`/${name}/status`)

type Page = ReadonlyMap<string, number>
const PREFIX = 'platform_gateway_'

/** What it says now: its own series without buckets, such as `requests_total{…}`. */
async function page(): Promise<Page> {
  const own = [...seriesOf(await gateway.metrics())].filter(
    ([series]) => series.startsWith(PREFIX) && !series.includes('le="'),
  )
  return new Map(own.map(([series, value]) => [series.slice(PREFIX.length), value]))
}

/** What has changed by now, of the series that begin so. */
async function changes(before: Page, ...prefixes: string[]): Promise<Record<string, number>> {
  const after = await page()
  const changed = [...after].flatMap(([series, value]) => {
    const by = value - (before.get(series) ?? 0)
    const isMeant = prefixes.some((prefix) => series.startsWith(prefix))
    return by !== 0 && isMeant ? [[series, by] as const] : []
  })
  return Object.fromEntries(changed)
}

/** A key that the gateway takes, and that has not been used. */
async function given(spec: OwnedAccessKeySpec = {}) {
  const token = uniqueName('k'.repeat(32))
  const object = await keys.create({ user: 'ada', key: token, ...spec })
  const isTaken = async () =>
    expect((await polledAnswerOf(front, gateway, token)).code).toSatisfy((code) =>
      isAccepted({ code }),
    )
  await eventuallyPasses('the gateway takes the key', isTaken, SOON)
  return { token, object }
}

async function disabled({ object }: { readonly object: StoredKey }): Promise<void> {
  await keys.patch(object, { spec: { disabled: true } })
}

/** A watch that the client ends by `end`, and the code of its answer. */
function watching(
  token: string,
  path: string,
): Promise<{ readonly code: number; readonly end: () => void }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const options = { ca, headers, agent: false }
    const request = get(`${gateway.url()}${path}?watch=true`, options, (answer) => {
      answer.on('error', () => undefined).resume()
      resolve({ code: answer.statusCode ?? 0, end: () => void request.destroy() })
    })
    request.on('error', reject)
  })
}

// First: a minute after a use the next one of that key is recorded.
test('uses that are recorded, and that can not be (15, 14.1)', async () => {
  const before = await page()
  const used = await given()
  await polledAnswerOf(front, gateway, used.token, UPSTREAM)
  const shows = (expected: Record<string, number>) => async () =>
    expect(await changes(before, 'activity_')).toEqual(expected)
  const WRITTEN = { activity_writes_total: 1 }
  await eventuallyPasses('its use is counted', shows(WRITTEN), SOON)
  expect((await keys.read(used.object))?.status.lastActivity).toBeDefined()

  const unrecorded = await given()
  const fails = line.on(isStatusOf(unrecorded.object), { kind: 'answer', status: 500 })
  await polledAnswerOf(front, gateway, unrecorded.token, UPSTREAM)
  const failed = async () => {
    const { activity_failures_total: failures, ...others } = await changes(before, 'activity_')
    expect(failures).toBe(fails.hits.length)
    expect(others).toEqual(WRITTEN)
  }
  await fails.reached(SOON)
  await eventuallyPasses('each try that failed is counted', failed, SOON)
  fails.remove()
})

test('requests with their time, and credentials with why they were refused (15, 10.3)', async () => {
  const good = await given()
  const over = await given()
  await disabled(over)
  const isOver = async () =>
    expect((await polledAnswerOf(front, gateway, over.token)).code).toBe(401)
  await eventuallyPasses('the disabled key is refused', isOver, SOON)
  const before = await page()

  const codes: number[] = []
  for (const path of [UPSTREAM, UPSTREAM, SECRETS, NOWHERE])
    codes.push((await polledAnswerOf(front, gateway, good.token, path)).code)
  codes.push((await polledAnswerOf(front, gateway, over.token, UPSTREAM)).code)
  codes.push((await polledAnswerOf(front, gateway, uniqueName('k'.repeat(32)), UPSTREAM)).code)
  for (const path of [UPSTREAM, '/oidc/keys'])
    codes.push((await ask(`${gateway.url()}${path}`, { ca })).code)
  expect(codes).toEqual([200, 200, 403, 404, 401, 401, 401, 200])

  expect(await changes(before, 'requests_', 'authentication_')).toEqual({
    'requests_total{target="Management",verb="get",code="200"}': 2,
    'requests_total{target="Management",verb="list",code="403"}': 1,
    'requests_total{target="Other",verb="get",code="404"}': 1,
    'requests_total{target="Other",verb="get",code="401"}': 3,
    'requests_total{target="Public",verb="get",code="200"}': 1,
    'authentication_total{result="good",reason=""}': 4,
    'authentication_total{result="refused",reason="disabled"}': 1,
    'authentication_total{result="refused",reason="unknown"}': 1,
    'authentication_total{result="refused",reason="none"}': 1,
  })
  const time = 'request_duration_seconds'
  expect(await changes(before, time)).toEqual({
    [`${time}_count{target="Management",verb="get"}`]: 2,
    [`${time}_sum{target="Management",verb="get"}`]: expect.toSatisfy((by: number) => by > 0),
    [`${time}_count{target="Management",verb="list"}`]: 1,
    [`${time}_sum{target="Management",verb="list"}`]: expect.toSatisfy((by: number) => by > 0),
  })
})

test('what the scope of a key does not grant (15, 11.1)', async () => {
  const rules = [{ verbs: ['get'], resources: [{ resources: ['configmaps'] }] }]
  const { token } = await given({ scope: { rules } })
  const before = await page()
  expect((await polledAnswerOf(front, gateway, token, SECRETS)).code).toBe(403)
  expect((await polledAnswerOf(front, gateway, token, UPSTREAM)).code).toBe(200)
  expect(await changes(before, 'scope_')).toEqual({
    'scope_denials_total{target="Management"}': 1,
  })
})

test('watches while they are open and after, and those that are cut (15, 13.4)', async () => {
  const [leaving, ended] = [await given(), await given()]
  const before = await page()
  const watch = await watching(leaving.token, WATCHED)
  const other = await watching(ended.token, WATCHED)
  expect([watch.code, other.code]).toEqual([200, 200])
  const shows = (expected: Record<string, number>) => async () =>
    expect(await changes(before, 'streams')).toEqual(expected)
  await shows({ 'streams{kind="watch"}': 2 })()
  watch.end()
  await eventuallyPasses('one is open', shows({ 'streams{kind="watch"}': 1 }), SOON)
  await disabled(ended)
  const cut = { 'streams_cut_total{reason="revoked"}': 1 }
  await eventuallyPasses('the other is cut', shows(cut), SOON)
})

test('what the gateway limits itself, apart from what the API server does (15, 13.3)', async () => {
  const { token } = await given()
  const before = await page()
  const most = MAX_PER_KEY.filteredWatch
  const watches = []
  while (watches.length <= most) watches.push(await watching(token, OWN_TOKENS))
  expect(watches.map(({ code }) => code)).toEqual([...Array(most).fill(200), 429])
  for (const { end } of watches) end()
  const OWN = { 'limited_total{kind="filteredWatch"}': 1 }
  expect(await changes(before, 'limited_')).toEqual(OWN)

  const busy = line.on(({ path }) => path === '/version', { kind: 'answer', status: 429 })
  expect((await polledAnswerOf(front, gateway, token, UPSTREAM)).code).toBe(429)
  busy.remove()
  expect(await changes(before, 'limited_', 'requests_')).toEqual({
    ...OWN,
    'requests_total{target="Management",verb="watch",code="200"}': most,
    'requests_total{target="Management",verb="watch",code="429"}': 1,
    'requests_total{target="Management",verb="get",code="429"}': 1,
  })
})

test('how old its knowledge is, and how long a change takes (15, 10.4)', async () => {
  const before = await page()
  const ages = async () => {
    const now = await page()
    for (const of of ['keys', 'published']) {
      const seconds = now.get(`watch_age_seconds{of="${of}"}`)
      expect(seconds).toBeGreaterThan(0)
      expect(seconds).toBeLessThan(60)
    }
  }
  await eventuallyPasses('both have an age', ages, SOON)
  const arrived = async () => {
    const by = await changes(before, 'revocation_seconds')
    expect(by['revocation_seconds_count']).toBeGreaterThan(0)
    expect(by['revocation_seconds_sum']).toBeGreaterThan(0)
  }
  await eventuallyPasses('a heartbeat arrives', arrived, SOON)
})
