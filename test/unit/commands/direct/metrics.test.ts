import { describe, expect, test } from 'vitest'
import { createDirectMetrics } from '../../../../src/commands/direct/metrics.ts'
import { PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { seriesOf } from '../../../support/metrics-page.ts'

function started() {
  const clock = manualClock(t0)
  const metrics = createDirectMetrics({ maxStalenessMs: 3_600_000 }, clock)
  /** Our series with their values. */
  const scraped = async (): Promise<Readonly<Record<string, number>>> => {
    const { body } = await metrics.scrape()
    return Object.fromEntries(
      [...seriesOf(body)].filter(([series]) => /^(rest_client|platform)_/.test(series)),
    )
  }
  return { metrics, clock, scraped }
}

describe('the metrics of a direct endpoint (8.4, 9.2, 15)', () => {
  test.each([
    'platform_direct_revocation_list_age_seconds',
    'platform_direct_revoked_tokens',
    'platform_direct_signing_keys',
    'platform_direct_clock_skew_seconds',
    'platform_direct_issuer_polls_total{document="discovery",result="ok"}',
    'platform_direct_issuer_polls_total{document="keys",result="failed"}',
    'platform_direct_issuer_polls_total{document="revoked",result="refused"}',
    'platform_direct_issuer_polls_total{document="revoked",result="unchanged"}',
    'platform_direct_revocations_refused_total',
    'platform_direct_signing_keys_refused_total',
    'platform_direct_webhook_requests_total{decision="denied"}',
    'platform_direct_webhook_requests_total{decision="noOpinion"}',
    'platform_direct_webhook_requests_total{decision="refused"}',
    'platform_direct_webhook_requests_total{decision="malformed"}',
    'platform_direct_webhook_request_duration_seconds_count',
    'platform_gateway_requests_total{target="Public",verb="get",code="200"}',
    'platform_gateway_requests_total{target="Webhook",verb="other",code="200"}',
    'platform_gateway_requests_total{target="Webhook",verb="get",code="405"}',
    'platform_gateway_requests_total{target="Other",verb="get",code="503"}',
    'platform_gateway_requests_total{target="Cluster",verb="watch",code="403"}',
    'platform_gateway_requests_total{target="ProjectVirtualCluster",verb="get",code="503"}',
    'platform_gateway_requests_total{target="ProjectSpace",verb="create",code="404"}',
    'platform_gateway_request_duration_seconds_count{target="Cluster",verb="list"}',
    'platform_gateway_authentication_total{result="good",reason=""}',
    'platform_gateway_authentication_total{result="refused",reason="none"}',
    'platform_gateway_authentication_total{result="refused",reason="revoked"}',
    'platform_gateway_authentication_total{result="refused",reason="stale"}',
    'platform_gateway_scope_denials_total{target="ProjectSpace"}',
    'platform_gateway_limited_total{kind="stream"}',
    'platform_gateway_connections_dropped_total',
    'platform_gateway_streams{kind="watch"}',
    'platform_gateway_streams_cut_total{reason="stale"}',
    'platform_gateway_certificate_not_after_timestamp_seconds',
    'rest_client_requests_total{code="403",method="GET"}',
    'platform_api_writes_total{kind="Secret",reason="renew"}',
    'platform_api_writes_total{kind="Event",reason="record"}',
    'platform_clock_skew_seconds',
  ])('%s is 0 from the start', async (series) => {
    expect(await started().scraped()).toHaveProperty([series], 0)
  })

  test('have the version, the flag, and that nothing waits to be kept', async () => {
    expect(await started().scraped()).toMatchObject({
      [`platform_build_info{version="${PROGRAM_VERSION}"}`]: 1,
      platform_direct_max_staleness_seconds: 3600,
      platform_direct_state_saved: 1,
    })
  })

  test('no event adds a series, with any method', async () => {
    const { metrics, scraped } = started()
    const before = Object.keys(await scraped())
    for (const method of ['GET', 'HEAD', 'POST', 'QUERY', '']) {
      metrics.answered('Other', method, 401, 0)
      metrics.answered('Webhook', method, 401, 0)
    }
    for (const code of [200, 400, 413, 500]) metrics.answered('Webhook', 'POST', code, 0)
    metrics.answered('Cluster', 'deletecollection', 403, 0.2)
    metrics.authenticated('unknownKey')
    metrics.authenticated(null)
    metrics.polled('revoked', 'ok')
    metrics.revocationsRefused()
    metrics.keyRefused()
    metrics.stateKept(false)
    metrics.reviewed('denied', 0.25)
    const after = await scraped()
    expect(Object.keys(after)).toEqual(before)
    expect(after).toMatchObject({
      'platform_gateway_requests_total{target="Webhook",verb="other",code="401"}': 3,
      'platform_gateway_requests_total{target="Webhook",verb="get",code="401"}': 1,
      'platform_gateway_requests_total{target="Webhook",verb="other",code="200"}': 1,
      'platform_gateway_authentication_total{result="refused",reason="unknownKey"}': 1,
      'platform_gateway_authentication_total{result="good",reason=""}': 1,
      'platform_direct_issuer_polls_total{document="revoked",result="ok"}': 1,
      platform_direct_revocations_refused_total: 1,
      platform_direct_signing_keys_refused_total: 1,
      platform_direct_state_saved: 0,
      'platform_direct_webhook_requests_total{decision="denied"}': 1,
      platform_direct_webhook_request_duration_seconds_sum: 0.25,
    })
  })

  test('without a list, its age counts from the start, so that an alert fires', async () => {
    const { metrics, clock, scraped } = started()
    await clock.advance(90_000)
    const age = 'platform_direct_revocation_list_age_seconds'
    expect(await scraped()).toHaveProperty([age], 90)
    const gauges = {
      listAgeMs: 4200,
      keysAgeMs: 3100,
      revokedTokens: 7,
      signingKeys: 2,
      clockSkewMs: -1500,
    }
    metrics.followIssuer(() => gauges)
    expect(await scraped()).toMatchObject({
      [age]: 4.2,
      platform_direct_signing_keys_age_seconds: 3.1,
      platform_direct_revoked_tokens: 7,
      platform_direct_signing_keys: 2,
      platform_direct_clock_skew_seconds: -1.5,
    })
    gauges.listAgeMs = Number.POSITIVE_INFINITY
    expect(await scraped()).toHaveProperty([age], 90)
  })

  test('has none of what only managers and gateways have', async () => {
    const { body } = await started().metrics.scrape()
    expect(body).not.toMatch(/workqueue_|leader_election_|platform_gateway_(watch_age|activity)/)
    expect(body).not.toContain('Management')
  })
})
