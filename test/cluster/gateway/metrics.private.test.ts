// The gateway's own metrics, each after the event that it counts (contract 15): a metric that is not wired up stays at
// zero and fails here.
import { get } from 'node:https'
import { afterAll, expect, test } from 'vitest'
import { TOKENS } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { MAX_PER_KEY } from '../../../src/gateway/streams/max-in-flight.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { type Match, startProxy } from '../../support/fault-proxy.ts'
import { ask } from '../../support/gateway-process.ts'
import { seriesOf } from '../../support/metrics-page.ts'
import { uniqueName } from '../../support/object-builder.ts'
import type { StoredKey } from '../keys/key-client.ts'
import {
  UNROUTED_PATH,
  UPSTREAM_PATH,
  WATCHED_PATH,
  isAccepted,
  allowWatch,
  askTimed,
  startAnotherGateway,
} from './timed-requests.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { keys, plane, ca } = setup
await allowWatch(setup)
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const gateway = await startAnotherGateway(setup, { proxy })
afterAll(() => gateway.stop())
// Only one of several replicas writes heartbeats and counts them.
for (const other of setup.gateways) await other.stop()

const SECRETS = `${MANAGEMENT}/api/v1/namespaces/default/secrets`
const OWN_TOKENS = `${MANAGEMENT}${pathOf(TOKENS, {})}`
const isStatusOf =
  ({ metadata: { name } }: StoredKey): Match =>
  ({ method, path }) =>
    method === 'PATCH' && path.endsWith(`/${name}/status`)

type Series = ReadonlyMap<string, number>
const PREFIX = 'platform_gateway_'

/** The series of the gateway without their prefix and without buckets, such as `requests_total{…}`. */
async function ownSeries(): Promise<Series> {
  const own = [...seriesOf(await gateway.metrics())].filter(
    ([series]) => series.startsWith(PREFIX) && !series.includes('le="'),
  )
  return new Map(own.map(([series, value]) => [series.slice(PREFIX.length), value]))
}

/** The increases since `before` of the series with these prefixes. */
async function changes(before: Series, ...prefixes: string[]): Promise<Record<string, number>> {
  const after = await ownSeries()
  const changed = [...after].flatMap(([series, value]) => {
    const by = value - (before.get(series) ?? 0)
    const isMeant = prefixes.some((prefix) => series.startsWith(prefix))
    return by !== 0 && isMeant ? [[series, by] as const] : []
  })
  return Object.fromEntries(changed)
}

/** A key that the gateway accepts, without a forwarded request yet. */
async function newKey(spec: OwnedAccessKeySpec = {}) {
  const token = uniqueName('k'.repeat(32))
  const object = await keys.create({ user: 'ada', key: token, ...spec })
  const isKnown = async () =>
    expect((await askTimed(setup, gateway, token)).code).toSatisfy((code) => isAccepted({ code }))
  await eventuallyPasses('the gateway accepts the key', isKnown, SOON)
  return { token, object }
}

async function disable({ object }: { readonly object: StoredKey }): Promise<void> {
  await keys.patch(object, { spec: { disabled: true } })
}

/** Opens a watch that `end` closes; with the code of its answer. */
function openWatch(
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

// The first test: a key's next use would be recorded only a minute after the last.
test('counts recorded uses of keys, and failures to record them (15, 14.1)', async () => {
  const before = await ownSeries()
  const used = await newKey()
  await askTimed(setup, gateway, used.token, UPSTREAM_PATH)
  const hasChanges = (expected: Record<string, number>) => async () =>
    expect(await changes(before, 'activity_')).toEqual(expected)
  const WRITTEN = { activity_writes_total: 1 }
  await eventuallyPasses('the recorded use is counted', hasChanges(WRITTEN), SOON)
  expect((await keys.read(used.object))?.status.lastActivity).toBeDefined()

  const unrecorded = await newKey()
  const fails = proxy.on(isStatusOf(unrecorded.object), { kind: 'answer', status: 500 })
  await askTimed(setup, gateway, unrecorded.token, UPSTREAM_PATH)
  const failed = async () => {
    const { activity_failures_total: failures, ...others } = await changes(before, 'activity_')
    expect(failures).toBe(fails.hits.length)
    expect(others).toEqual(WRITTEN)
  }
  await fails.reached(SOON)
  await eventuallyPasses('each failed attempt is counted', failed, SOON)
  fails.remove()
})

test('counts requests with their duration, and refused credentials by reason (15, 10.3)', async () => {
  const good = await newKey()
  const disabled = await newKey()
  await disable(disabled)
  const isRefused = async () =>
    expect((await askTimed(setup, gateway, disabled.token)).code).toBe(401)
  await eventuallyPasses('the disabled key is refused', isRefused, SOON)
  const before = await ownSeries()

  const codes: number[] = []
  for (const path of [UPSTREAM_PATH, UPSTREAM_PATH, SECRETS, UNROUTED_PATH])
    codes.push((await askTimed(setup, gateway, good.token, path)).code)
  codes.push((await askTimed(setup, gateway, disabled.token, UPSTREAM_PATH)).code)
  codes.push((await askTimed(setup, gateway, uniqueName('k'.repeat(32)), UPSTREAM_PATH)).code)
  for (const path of [UPSTREAM_PATH, '/oidc/keys'])
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

test('counts requests that a scope does not grant (15, 11.1)', async () => {
  const rules = [{ verbs: ['get'], resources: [{ resources: ['configmaps'] }] }]
  const { token } = await newKey({ scope: { rules } })
  const before = await ownSeries()
  expect((await askTimed(setup, gateway, token, SECRETS)).code).toBe(403)
  expect((await askTimed(setup, gateway, token, UPSTREAM_PATH)).code).toBe(200)
  expect(await changes(before, 'scope_')).toEqual({
    'scope_denials_total{target="Management"}': 1,
  })
})

test('counts open watches, and watches that were cut (15, 13.4)', async () => {
  const [leaving, ended] = [await newKey(), await newKey()]
  const before = await ownSeries()
  const watch = await openWatch(leaving.token, WATCHED_PATH)
  const other = await openWatch(ended.token, WATCHED_PATH)
  expect([watch.code, other.code]).toEqual([200, 200])
  const hasChanges = (expected: Record<string, number>) => async () =>
    expect(await changes(before, 'streams')).toEqual(expected)
  await hasChanges({ 'streams{kind="watch"}': 2 })()
  watch.end()
  await eventuallyPasses('one is open', hasChanges({ 'streams{kind="watch"}': 1 }), SOON)
  await disable(ended)
  const cut = { 'streams_cut_total{reason="revoked"}': 1 }
  await eventuallyPasses('the other is cut', hasChanges(cut), SOON)
})

test('counts a 429 of its own limits, but not one of the API server (15, 13.3)', async () => {
  const { token } = await newKey()
  const before = await ownSeries()
  const most = MAX_PER_KEY.filteredWatch
  const watches = []
  while (watches.length <= most) watches.push(await openWatch(token, OWN_TOKENS))
  expect(watches.map(({ code }) => code)).toEqual([...Array(most).fill(200), 429])
  for (const { end } of watches) end()
  const LIMITED = { 'limited_total{kind="filteredWatch"}': 1 }
  expect(await changes(before, 'limited_')).toEqual(LIMITED)

  const busy = proxy.on(({ path }) => path === '/version', { kind: 'answer', status: 429 })
  expect((await askTimed(setup, gateway, token, UPSTREAM_PATH)).code).toBe(429)
  busy.remove()
  expect(await changes(before, 'limited_', 'requests_')).toEqual({
    ...LIMITED,
    'requests_total{target="Management",verb="watch",code="200"}': most,
    'requests_total{target="Management",verb="watch",code="429"}': 1,
    'requests_total{target="Management",verb="get",code="429"}': 1,
  })
})

test('reports the age of its watches, and the delay of changes (15, 10.4)', async () => {
  const before = await ownSeries()
  const ages = async () => {
    const now = await ownSeries()
    for (const of of ['keys', 'published']) {
      const seconds = now.get(`watch_age_seconds{of="${of}"}`)
      expect(seconds).toBeGreaterThan(0)
      expect(seconds).toBeLessThan(60)
    }
  }
  await eventuallyPasses('both watches have an age', ages, SOON)
  const arrived = async () => {
    const by = await changes(before, 'revocation_seconds')
    expect(by['revocation_seconds_count']).toBeGreaterThan(0)
    expect(by['revocation_seconds_sum']).toBeGreaterThan(0)
  }
  await eventuallyPasses('a heartbeat arrives', arrived, SOON)
})
