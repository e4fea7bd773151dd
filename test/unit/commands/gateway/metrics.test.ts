import { describe, expect, test } from 'vitest'
import { createGatewayMetrics } from '../../../../src/commands/gateway/metrics.ts'
import { PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'
import { seriesOf } from '../../../support/metrics-page.ts'

type GatewayMetrics = ReturnType<typeof createGatewayMetrics>

const started = (): GatewayMetrics =>
  createGatewayMetrics({
    writes: { Secret: ['create', 'renew'] },
    watches: ['configs', 'configmaps'],
    watchRestartReasons: ['closed'],
    targets: ['Management'],
    hasWebhook: false,
    hasSignIn: true,
    refusals: ['unknown', 'expired'],
    limits: ['stream'],
    streamKinds: ['watch'],
    cutReasons: ['revoked'],
  })

/** Our series with their values. */
async function scraped({ scrape }: GatewayMetrics): Promise<Readonly<Record<string, number>>> {
  const { body } = await scrape()
  return Object.fromEntries(
    [...seriesOf(body)].filter(([series]) => /^(rest_client|platform)_/.test(series)),
  )
}

test('a target has a series while its Secret is there (9.5)', async () => {
  const metrics = started()
  const series = async () =>
    Object.entries(await scraped(metrics)).filter(([name]) => name.includes('target_ready'))
  expect(await series()).toEqual([])
  const c1 = { kind: 'cluster', project: '', name: 'c1' }
  let targets: readonly (readonly [typeof c1, boolean])[] = [
    [c1, true],
    [{ kind: 'space', project: 'p', name: 's' }, false],
  ]
  metrics.followTargets(() => targets)
  const ofC1 = 'platform_gateway_target_ready{kind="cluster",project="",name="c1"}'
  expect(await series()).toEqual([
    [ofC1, 1],
    ['platform_gateway_target_ready{kind="space",project="p",name="s"}', 0],
  ])
  targets = [[c1, false]]
  expect(await series()).toEqual([[ofC1, 0]])
})

test('a cluster has a lag while its agent was heard of lately (23.3)', async () => {
  const metrics = started()
  const series = async () =>
    Object.entries(await scraped(metrics)).filter(([name]) => name.includes('agent_lag'))
  expect(await series()).toEqual([])
  let lags: readonly (readonly [string, number])[] = [['east', 1.5]]
  metrics.followAgentLags(() => lags)
  expect(await series()).toEqual([['platform_audit_agent_lag_seconds{cluster="east"}', 1.5]])
  lags = []
  expect(await series()).toEqual([])
})

describe('the metrics of the gateway (contract 8.4, 15)', () => {
  test.each([
    'platform_gateway_requests_total{target="Public",verb="get",code="200"}',
    'platform_gateway_requests_total{target="Public",verb="head",code="304"}',
    'platform_gateway_requests_total{target="Public",verb="other",code="405"}',
    'platform_gateway_requests_total{target="Other",verb="other",code="401"}',
    'platform_gateway_requests_total{target="Other",verb="get",code="400"}',
    'platform_gateway_requests_total{target="Other",verb="other",code="500"}',
    'platform_gateway_requests_total{target="Other",verb="get",code="501"}',
    'platform_gateway_requests_total{target="Other",verb="get",code="503"}',
    'platform_gateway_requests_total{target="Other",verb="other",code="503"}',
    'platform_gateway_requests_total{target="Management",verb="watch",code="403"}',
    'platform_gateway_requests_total{target="Management",verb="create",code="504"}',
    'platform_gateway_request_duration_seconds_count{target="Management",verb="list"}',
    'platform_gateway_authentication_total{result="refused",reason="unknown"}',
    'platform_gateway_scope_denials_total{target="Management"}',
    'platform_gateway_limited_total{kind="stream"}',
    'platform_gateway_connections_dropped_total',
    'platform_gateway_streams{kind="watch"}',
    'platform_gateway_streams_cut_total{reason="revoked"}',
    'platform_gateway_activity_writes_total',
    'platform_gateway_activity_failures_total',
    'platform_gateway_revocation_seconds_count',
    'rest_client_requests_total{code="409",method="PATCH"}',
    'platform_api_writes_total{kind="Secret",reason="renew"}',
    'platform_watch_restarts_total{resource="configmaps",reason="closed"}',
    'platform_clock_skew_seconds',
    'platform_gateway_watch_age_seconds{of="keys"}',
    'platform_gateway_watch_age_seconds{of="published"}',
    'platform_gateway_certificate_not_before_timestamp_seconds',
    'platform_gateway_certificate_not_after_timestamp_seconds',
  ])('%s is 0 from the start', async (series) => {
    expect(await scraped(started())).toHaveProperty([series], 0)
  })

  test('has the version', async () => {
    const info = `platform_build_info{version="${PROGRAM_VERSION}"}`
    expect(await scraped(started())).toHaveProperty([info], 1)
  })

  test('no request adds a series, with any method', async () => {
    const metrics = started()
    const before = Object.keys(await scraped(metrics))
    for (const method of ['GET', 'HEAD', 'POST', 'QUERY', 'constructor', ''])
      metrics.answered('Other', method, 401, 0)
    metrics.answered('Public', 'GET', 200, 0)
    metrics.answered('Public', 'PATCH', 405, 0)
    metrics.answered('Management', 'deletecollection', 403, 0.2)
    metrics.authenticated('expired')
    metrics.authenticated(null)
    const after = await scraped(metrics)
    expect(Object.keys(after)).toEqual(before)
    expect(after).toMatchObject({
      'platform_gateway_requests_total{target="Other",verb="other",code="401"}': 4,
      'platform_gateway_request_duration_seconds_sum{target="Management",verb="deletecollection"}': 0.2,
      'platform_gateway_authentication_total{result="refused",reason="expired"}': 1,
      'platform_gateway_authentication_total{result="good",reason=""}': 1,
      'platform_gateway_requests_total{target="Public",verb="get",code="200"}': 1,
    })
  })

  test('has the expiry of the certificate in use', async () => {
    const metrics = started()
    metrics.certificateShown(1_792_663_200_000, 1_795_255_200_000)
    expect(await scraped(metrics)).toMatchObject({
      platform_gateway_certificate_not_before_timestamp_seconds: 1_792_663_200,
      platform_gateway_certificate_not_after_timestamp_seconds: 1_795_255_200,
    })
  })

  test('reads the ages of keys and published data at each scrape', async () => {
    const metrics = started()
    metrics.followWatchAges({ keys: () => 4200, published: () => 61_500 })
    expect(await scraped(metrics)).toMatchObject({
      'platform_gateway_watch_age_seconds{of="keys"}': 4.2,
      'platform_gateway_watch_age_seconds{of="published"}': 61.5,
    })
  })

  test('writes the age of what was never loaded as +Inf', async () => {
    const metrics = started()
    metrics.followWatchAges({ keys: () => Number.POSITIVE_INFINITY, published: () => 0 })
    const { body } = await metrics.scrape()
    expect(body).toContain('platform_gateway_watch_age_seconds{of="keys"} +Inf\n')
  })

  test('has metrics of the process and of Node, and none of the manager', async () => {
    const { body } = await started().scrape()
    expect(body).toContain('process_cpu_seconds_total')
    expect(body).not.toMatch(/workqueue_|controller_runtime_|leader_election_|platform_tokens/)
  })
})
