// A real Prometheus scrapes a busy manager, gateway and direct endpoint, a syncer, a sign-in and a delivery process, as two clusters, and
// evaluates our rules, our dashboard and community dashboards.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findPrometheus } from '../../../tools/prometheus/programs.ts'
import { freeAddress } from '../../direct/token-platform.ts'
import { type OwnOperator, type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { type OwnGateway, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { RULES_FILE, alerts, dashboard, namedIn } from '../../support/monitoring.ts'
import {
  type Prometheus,
  type Sample,
  programsOrSkip,
  promtool,
  startPrometheus,
} from '../../support/prometheus-server.ts'
import { LOCAL_TARGETS, connectOwnVirtualCluster } from '../gateway/own-targets.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { storeProgram } from '../secret-store/store-world.ts'
import { tokenClientOf, under } from '../tokens/token-client.ts'
import { sendAgentEvent } from './agent-series.ts'
import { usualQueries } from './community-dashboards.ts'
import {
  checksIn,
  listedChecks,
  listedMetrics,
  listedMetricsOfDirect,
  metricsOfDirect,
  nameOf,
  ownMetrics,
} from './documented-metrics.ts'
import { type DeliveryOn, claimOn, pullOn, startDeliveryOn } from './delivery-series.ts'
import { startDirectOn, useDirect } from './direct-series.ts'
import {
  CLUSTERS,
  NAMESPACE,
  SYNCER_NAMESPACE,
  expressions,
  filledIn,
  shown,
  target,
} from './expressions.ts'
import { startSignInOn, tryPassword } from './sign-in-series.ts'
import { startSyncerOn } from './syncer-series.ts'

const BOUND = { withinMs: 30_000 }

const found = await findPrometheus(console.log)
const kvStore = await storeProgram()
const plane = await privateControlPlane()
let manager: OwnOperator
let gateway: OwnGateway
let direct: OwnGateway
let syncer: OwnProcess
let signIn: OwnGateway
let delivery: DeliveryOn
let prometheus: Prometheus

beforeAll(async () => {
  if (found.programs === null) return
  const address = await freeAddress()
  const issuer = `https://${address}/oidc`
  const flags = [`--issuer-url=${issuer}`]
  manager = await startOperator({
    kubeconfig: await plane.operatorKubeconfig(),
    flags: [...flags, '--leader-elect', '--per-object-metrics'],
  })
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  gateway = await startGateway({
    kubeconfig,
    flags: [...flags, `--bind-address=${address}`, ...LOCAL_TARGETS],
  })
  await connectOwnVirtualCluster(plane, gateway)
  direct = await startDirectOn(plane, { issuer, caPem: await gatewayCa(plane.admin) })
  syncer = await startSyncerOn(plane, SYNCER_NAMESPACE)
  signIn = await startSignInOn(plane, gateway)
  delivery = await startDeliveryOn(plane, kvStore)
  const targets = CLUSTERS.flatMap((cluster) => [
    target(cluster, 'manager', manager),
    target(cluster, 'gateway', gateway),
    target(cluster, 'direct', direct),
    target(cluster, 'syncer', syncer),
    target(cluster, 'sign-in', signIn),
    target(cluster, 'delivery', delivery.process),
  ])
  prometheus = await startPrometheus(found.programs, targets, RULES_FILE)
  await eventually('all are scraped', async () => (await areUp()) || undefined, BOUND)
  await createActivity()
})
afterAll(async () => {
  await prometheus?.[Symbol.asyncDispose]()
  for (const process of [delivery?.process, signIn, syncer, direct, gateway, manager])
    await process?.stop()
  await delivery?.platform.store[Symbol.asyncDispose]()
})
beforeEach(({ skip }) => {
  programsOrSkip(found, skip)
})

const areUp = async (): Promise<boolean> =>
  (await prometheus.query('up == 1')).length === 6 * CLUSTERS.length

/** Creates activity: expiring keys, a token revoked with its key, requests to gateway and direct endpoint. */
async function createActivity(): Promise<void> {
  const keys = keyClientOf(plane)
  const tokens = tokenClientOf(plane)
  const short = await keys.create({ ttl: 2 })
  const owner = await keys.shown(await keys.create({ ttl: 600 }), 'Active')
  const token = await tokens.issue({}, under(owner))
  await tokens.issue()
  expect(await useDirect(plane, direct, token.status.token ?? '')).toEqual([200, 200])
  const ca = await gatewayCa(plane.admin)
  await sendAgentEvent(plane, gateway, ca)
  await eventuallyPasses(
    'the gateway accepts the key',
    async () => {
      const headers = { authorization: `Bearer ${owner.spec.key}` }
      const { code } = await ask(`${gateway.url()}/kubernetes/management/api`, { ca, headers })
      expect(code).toBe(200)
    },
    BOUND,
  )
  expect(await tryPassword(plane, signIn)).toBe(401)
  await Promise.all([claimOn(plane), pullOn(plane, delivery.platform)])
  await keys.remove(owner)
  await keys.shown(short, 'Expired')
  for (const path of ['/oidc/keys', '/oidc/revoked', '/kubernetes/management/api'])
    await ask(`${gateway.url()}${path}`, { ca })
  await eventuallyPasses(
    'all activity is scraped',
    async () => {
      expect(await values('platform_access_key_expirations_total')).toEqual([1])
      expect(await values('platform_revocations_total')).toEqual([1])
      expect(await values('platform_direct_revoked_tokens')).toEqual([1])
      for (const [job, least] of Object.entries({ gateway: 3, direct: 2 })) {
        const answered = `platform_gateway_requests_total{job="${job}-metrics",code!="401"}`
        expect((await values(`sum(${answered})`))[0]).toBeGreaterThanOrEqual(least)
      }
    },
    BOUND,
  )
}

/** Evaluates an expression while all processes have series: a process that is too slow for a scrape has none. */
const query = (expression: string): Promise<readonly Sample[]> =>
  eventually(
    'all are scraped',
    async () => {
      const wereUp = await areUp()
      const samples = await prometheus.query(expression)
      return wereUp && (await areUp()) ? samples : undefined
    },
    BOUND,
  )

/** Values of the first cluster, and of series without a cluster. */
const values = async (expression: string): Promise<readonly number[]> =>
  (await query(expression))
    .filter(({ metric: { cluster = CLUSTERS[0] } }) => cluster === CLUSTERS[0])
    .map(({ value }) => value)

describe('the scraped metrics (8.4)', () => {
  test('of manager, gateway, direct endpoint, sign-in and delivery process pass promtool check metrics', async ({
    skip,
  }) => {
    const programs = programsOrSkip(found, skip)
    for (const process of [manager, gateway, direct, signIn, delivery.process]) {
      const verdict = await promtool(programs, ['check', 'metrics'], await process.metrics())
      expect(verdict).toEqual({ code: 0, printed: '' })
    }
  })

  test('are exactly those in docs/operating.md, with their labels', async () => {
    const pages = await Promise.all(
      [manager, gateway, delivery.process].map((one) => one.metrics()),
    )
    expect(listedMetrics).toEqual([...new Set(pages.flatMap(ownMetrics))].toSorted())
  })

  test('of a direct endpoint are those in docs/direct-endpoint.md, and some of the others (9.2)', async () => {
    const { own, others } = metricsOfDirect(await direct.metrics())
    expect(own).toEqual(listedMetricsOfDirect)
    const names = listedMetrics.map(nameOf)
    expect(others.length).toBeGreaterThan(10)
    expect(others.filter((name) => !names.includes(name))).toEqual([])
  })

  test.each(['manager', 'gateway', 'direct'] as const)(
    'have exactly the readiness checks of a %s in the docs (8.2, 9.2)',
    async (program) => {
      const page = await { manager, gateway, direct }[program].metrics()
      expect(listedChecks(program)).toEqual(checksIn(page))
    },
  )

  test('have a bucket bound of a second for the lag of expiries (2.7)', async () => {
    expect(await values('platform_expiration_lag_seconds_bucket{le="1"}')).toHaveLength(1)
    expect(await values('platform_expiration_lag_seconds_count')).toEqual([1])
  })

  test('have the full lifetime of a signing key: 30 days (7.3)', async () => {
    const ends = 'platform_signing_key_not_after_timestamp_seconds'
    const begins = 'platform_signing_key_not_before_timestamp_seconds'
    expect(await values(`${ends} - ${begins}`)).toEqual([30 * 86_400])
  })

  test('of a running system have nothing overdue and no failing check', async () => {
    expect(new Set(await values('platform_ready'))).toEqual(new Set([1]))
    // A scrape may fall between an expiry and its status write.
    const overdue = async () =>
      expect(await values('max(platform_expirations_overdue)')).toEqual([0])
    await eventuallyPasses('nothing is overdue', overdue, { withinMs: 20_000 })
    expect(await values('platform_revocation_backlog')).toEqual([0])
    expect(await values('platform_revocations_total')).toEqual([1])
    expect(await values('platform_signing_key_faults')).toEqual([0])
  })
})

/** A series of Prometheus itself, which exists only while an alert is pending or firing. */
const ALERTS = 'ALERTS'

describe('metrics and labels of rules and dashboard exist (8.4)', () => {
  test.each(expressions)('$of: $expr', async ({ expr }) => {
    const { selectors, metrics, by, on } = namedIn(expr)
    const named = selectors.filter((selector) => !selector.startsWith(ALERTS))
    for (const selector of named) {
      const [count = 0] = await values(`count(${selector})`)
      expect({ selector, isThere: count > 0 }).toEqual({ selector, isThere: true })
    }
    const labels = await Promise.all(
      metrics.filter((metric) => metric !== ALERTS).map((metric) => labelsOf(metric)),
    )
    expect(by.filter((label) => !labels.some((its) => its.has(label)))).toEqual([])
    expect(on.filter((label) => !labels.every((its) => its.has(label)))).toEqual([])
  })
})

async function labelsOf(metric: string): Promise<ReadonlySet<string>> {
  const samples = await query(metric)
  return new Set(samples.flatMap((sample) => Object.keys(sample.metric)))
}

describe('the rules on a running system (8.4)', () => {
  test('are evaluated without an error and are all inactive', async () => {
    await eventuallyPasses(
      'every rule is evaluated and inactive',
      async () => {
        const rules = await prometheus.rules()
        const seen = rules.map(({ name, health, lastError = '', state }) => [
          name,
          health,
          lastError,
          state,
        ])
        expect(seen).toEqual(alerts().map(({ alert }) => [alert, 'ok', '', 'inactive']))
      },
      BOUND,
    )
  })
})

/** Panels without data on a healthy system, and why. */
const WITHOUT_DATA: Readonly<Record<string, string>> = {
  'Failing checks': 'it lists failing checks',
  'Watches reopened': 'it lists broken watches',
  'Targets that do not work': 'it lists those, and the only one works',
  'Time to write': 'the audit log is off',
  annotation: 'it marks alerts that fire, and none does',
}

describe('the dashboard on a running system (8.4)', () => {
  test.each(shown.filter(({ of }) => !(of in WITHOUT_DATA)))(
    '$of has data: $expr',
    async ({ expr }) => {
      await eventually(
        'the panel has a value',
        async () => (await values(expr)).some((value) => !Number.isNaN(value)) || undefined,
        BOUND,
      )
    },
  )

  test.each(shown.filter(({ of }) => of in WITHOUT_DATA))(
    '$of evaluates: $expr',
    async ({ expr }) => {
      await expect(prometheus.query(expr)).resolves.toBeInstanceOf(Array)
    },
  )

  test('shows the selected one of two clusters', async () => {
    const leaders = shown.find(({ of }) => of === 'Leaders')?.expr ?? ''
    expect(await values(leaders)).toEqual([1])
    expect(await values(leaders.replace('cluster="a"', 'cluster="none"'))).toEqual([])
  })

  test('has series with all labels of their legends', async () => {
    for (const { title, targets = [] } of dashboard().panels) {
      for (const { expr, legendFormat } of targets) {
        const labels = Array.from(
          legendFormat.matchAll(/\{\{(\w+)\}\}/g),
          ([, label = '']) => label,
        )
        for (const { metric } of await query(filledIn(expr)))
          expect({ title, labels }).toEqual({ title, labels: labels.filter((l) => l in metric) })
      }
    }
  })
})

describe('community dashboards for controller-runtime have data (8.4)', () => {
  test.each(usualQueries('manager-metrics', NAMESPACE, 'manager-0'))(
    '$of: $expr',
    async ({ expr, labels }) => {
      const hasData = async (): Promise<void> => {
        const samples = await query(expr)
        expect(samples.filter(({ value }) => !Number.isNaN(value))).not.toEqual([])
        for (const { metric } of samples)
          expect(Object.keys(metric)).toEqual(expect.arrayContaining([...labels]))
      }
      await eventuallyPasses('each series has its labels, and one has a value', hasData, BOUND)
    },
  )
})

test('the Down alerts of each cluster are pending when its processes have stopped (8.4)', async () => {
  for (const process of [delivery.process, direct, gateway, manager]) await process.stop()
  await eventuallyPasses(
    'all eight alerts are pending',
    async () => {
      const waiting = await prometheus.query(
        'ALERTS{alertname=~"ManagementOperator(Gateway|Direct|Delivery)?Down"}',
      )
      const names = waiting.map(({ metric }) => `${metric['cluster']} ${metric['alertname']}`)
      expect(names.toSorted()).toEqual([
        'a ManagementOperatorDeliveryDown',
        'a ManagementOperatorDirectDown',
        'a ManagementOperatorDown',
        'a ManagementOperatorGatewayDown',
        'b ManagementOperatorDeliveryDown',
        'b ManagementOperatorDirectDown',
        'b ManagementOperatorDown',
        'b ManagementOperatorGatewayDown',
      ])
    },
    BOUND,
  )
})
