import { describe, expect, test } from 'vitest'
import type { ManagerMetrics } from '../../../../src/commands/manager/metrics.ts'
import { PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'
import { NO_OBJECTS, managerMetrics, objectsOf, scraped } from './metrics-builder.ts'

const IDLE = { depth: 0, longestWorkSeconds: 0, unfinishedWorkSeconds: 0, longestWaitSeconds: 0 }

const ours = /^(controller_runtime|workqueue|rest_client|leader_election|platform)_/

describe('every series exists from the start (contract 8.4)', () => {
  test.each([
    'controller_runtime_reconcile_total{controller="config",result="success"}',
    'controller_runtime_reconcile_total{controller="config",result="requeue"}',
    'controller_runtime_reconcile_total{controller="config",result="requeue_after"}',
    'controller_runtime_reconcile_total{controller="ownedaccesskey",result="error"}',
    'controller_runtime_reconcile_errors_total{controller="ownedaccesskey"}',
    'controller_runtime_reconcile_time_seconds_bucket{le="0.005",controller="config"}',
    'controller_runtime_active_workers{controller="config"}',
    'workqueue_depth{name="config",controller="config"}',
    'workqueue_adds_total{name="config",controller="config"}',
    'workqueue_retries_total{name="config",controller="config"}',
    'workqueue_queue_duration_seconds_count{name="config",controller="config"}',
    'workqueue_work_duration_seconds_count{name="config",controller="config"}',
    'workqueue_longest_running_processor_seconds{name="config",controller="config"}',
    'workqueue_unfinished_work_seconds{name="config",controller="config"}',
    'rest_client_requests_total{code="200",method="GET"}',
    'rest_client_requests_total{code="<error>",method="PATCH"}',
    'leader_election_master_status{name="management-operator"}',
    'platform_access_keys{state="expired"}',
    'platform_access_key_expirations_total',
    'platform_expiration_lag_seconds_count',
    'platform_expiration_lag_seconds_bucket{le="1"}',
    'platform_lifetimes_capped{kind="OwnedAccessKey"}',
    'platform_expirations_overdue{kind="OwnedAccessKey"}',
    'platform_expirations_overdue_seconds{kind="OwnedAccessKey"}',
    'platform_revoked_tokens',
    'platform_revocation_backlog',
    'platform_revocation_backlog_seconds',
    'platform_signing_key_faults',
    'platform_queue_age_seconds{name="config",controller="config"}',
    'platform_config_last_applied_timestamp_seconds',
    'platform_api_writes_total{kind="OwnedAccessKey",reason="adopt"}',
    'platform_watch_restarts_total{resource="configs",reason="expired"}',
    'platform_clock_skew_seconds',
  ])('%s is 0', async (series) => {
    expect(await scraped(managerMetrics())).toHaveProperty([series], 0)
  })

  test.each([
    { series: 'controller_runtime_max_concurrent_reconciles{controller="ownedaccesskey"}', is: 16 },
    { series: 'platform_config_valid', is: 1 },
    { series: `platform_build_info{version="${PROGRAM_VERSION}"}`, is: 1 },
  ])('$series is $is', async ({ series, is }) => {
    expect(await scraped(managerMetrics())).toHaveProperty([series], is)
  })

  test('no event adds a series', async () => {
    const metrics = managerMetrics()
    const before = Object.keys(await scraped(metrics)).filter((series) => ours.test(series))
    const { queue, loop } = metrics.controller('config')
    queue.added()
    queue.retried()
    queue.waited(0.1)
    queue.worked(0.1)
    loop.started()
    loop.finished('requeue', 0.1)
    metrics.responded('DELETE', '409')
    metrics.wrote('Config', 'status')
    metrics.watchRestarted('configs', 'closed')
    metrics.leads(true)
    metrics.keyExpired(0.1)
    metrics.configChecked(true)
    metrics.configApplied(1000)
    metrics.clockSkewed(1)
    const after = Object.keys(await scraped(metrics)).filter((series) => ours.test(series))
    expect(after).toEqual(before)
  })
})

describe('events are counted', () => {
  test.each<{ name: string; act: (metrics: ManagerMetrics) => void; series: string; is: number }>([
    {
      name: 'a failed reconcile',
      act: (m) => m.controller('config').loop.finished('error', 0.3),
      series: 'controller_runtime_reconcile_errors_total{controller="config"}',
      is: 1,
    },
    {
      name: 'a finished reconcile',
      act: (m) => m.controller('config').loop.finished('requeue_after', 0.3),
      series: 'controller_runtime_reconcile_total{controller="config",result="requeue_after"}',
      is: 1,
    },
    {
      name: 'the duration of a reconcile',
      act: (m) => m.controller('config').loop.finished('success', 0.3),
      series: 'controller_runtime_reconcile_time_seconds_sum{controller="config"}',
      is: 0.3,
    },
    {
      name: 'an active worker',
      act: (m) => m.controller('config').loop.started(),
      series: 'controller_runtime_active_workers{controller="config"}',
      is: 1,
    },
    {
      name: 'an added key',
      act: (m) => m.controller('config').queue.added(),
      series: 'workqueue_adds_total{name="config",controller="config"}',
      is: 1,
    },
    {
      name: 'a retried key',
      act: (m) => m.controller('config').queue.retried(),
      series: 'workqueue_retries_total{name="config",controller="config"}',
      is: 1,
    },
    {
      name: 'a wait in the queue',
      act: (m) => m.controller('config').queue.waited(0.5),
      series: 'workqueue_queue_duration_seconds_bucket{le="1",name="config",controller="config"}',
      is: 1,
    },
    {
      name: 'work on an item',
      act: (m) => m.controller('config').queue.worked(0.5),
      series: 'workqueue_work_duration_seconds_bucket{le="0.1",name="config",controller="config"}',
      is: 0,
    },
    {
      name: 'queue depth, read at the scrape',
      act: (m) => m.controller('config').follow({ ...IDLE, depth: 7 }),
      series: 'workqueue_depth{name="config",controller="config"}',
      is: 7,
    },
    {
      name: 'longest work, read at the scrape',
      act: (m) => m.controller('config').follow({ ...IDLE, longestWorkSeconds: 2.5 }),
      series: 'workqueue_longest_running_processor_seconds{name="config",controller="config"}',
      is: 2.5,
    },
    {
      name: 'unfinished work, read at the scrape',
      act: (m) => m.controller('config').follow({ ...IDLE, unfinishedWorkSeconds: 4.5 }),
      series: 'workqueue_unfinished_work_seconds{name="config",controller="config"}',
      is: 4.5,
    },
    {
      name: 'longest wait, read at the scrape',
      act: (m) => m.controller('config').follow({ ...IDLE, longestWaitSeconds: 90 }),
      series: 'platform_queue_age_seconds{name="config",controller="config"}',
      is: 90,
    },
    {
      name: 'a response',
      act: (m) => m.responded('GET', '200'),
      series: 'rest_client_requests_total{code="200",method="GET"}',
      is: 1,
    },
    {
      name: 'a response with an unusual code',
      act: (m) => m.responded('GET', '418'),
      series: 'rest_client_requests_total{code="418",method="GET"}',
      is: 1,
    },
    {
      name: 'a write',
      act: (m) => m.wrote('Config', 'status'),
      series: 'platform_api_writes_total{kind="Config",reason="status"}',
      is: 1,
    },
    {
      name: 'a restarted watch',
      act: (m) => m.watchRestarted('configs', 'closed'),
      series: 'platform_watch_restarts_total{resource="configs",reason="closed"}',
      is: 1,
    },
    {
      name: 'leadership',
      act: (m) => m.leads(true),
      series: 'leader_election_master_status{name="management-operator"}',
      is: 1,
    },
    {
      name: 'leadership lost',
      act: (m) => [true, false].forEach(m.leads),
      series: 'leader_election_master_status{name="management-operator"}',
      is: 0,
    },
    {
      name: 'an expiry',
      act: (m) => m.keyExpired(0.2),
      series: 'platform_access_key_expirations_total',
      is: 1,
    },
    {
      name: 'the lag of an expiry',
      act: (m) => m.keyExpired(0.2),
      series: 'platform_expiration_lag_seconds_sum',
      is: 0.2,
    },
    {
      name: 'a faulty Config',
      act: (m) => m.configChecked(false),
      series: 'platform_config_valid',
      is: 0,
    },
    {
      name: 'settings in force',
      act: (m) => m.configApplied(1_795_255_200_500),
      series: 'platform_config_last_applied_timestamp_seconds',
      is: 1_795_255_200.5,
    },
    {
      name: 'a clock that is behind',
      act: (m) => m.clockSkewed(-3),
      series: 'platform_clock_skew_seconds',
      is: -3,
    },
    {
      name: 'keys by state',
      act: (m) => m.follow(objectsOf('OwnedAccessKey', { byState: { active: 5 } })),
      series: 'platform_access_keys{state="active"}',
      is: 5,
    },
    {
      name: 'a state without keys',
      act: (m) => m.follow(objectsOf('OwnedAccessKey', { byState: { active: 5 } })),
      series: 'platform_access_keys{state="expired"}',
      is: 0,
    },
    {
      name: 'tokens by state',
      act: (m) => m.follow(objectsOf('DirectClusterEndpointToken', { byState: { issued: 3 } })),
      series: 'platform_tokens{state="issued"}',
      is: 3,
    },
    {
      name: 'an issued token',
      act: (m) => m.tokenIssued(),
      series: 'platform_tokens_issued_total',
      is: 1,
    },
    {
      name: 'a signature',
      act: (m) => m.tokenSigned(0.0003),
      series: 'platform_token_signing_seconds_bucket{le="0.0005"}',
      is: 1,
    },
    {
      name: 'revoked tokens',
      act: (m) => m.tokensRevoked(7),
      series: 'platform_revocations_total',
      is: 7,
    },
    {
      name: 'capped lifetimes',
      act: (m) => m.follow(objectsOf('OwnedAccessKey', { capped: 2 })),
      series: 'platform_lifetimes_capped{kind="OwnedAccessKey"}',
      is: 2,
    },
  ])('$name', async ({ act, series, is }) => {
    const metrics = managerMetrics()
    act(metrics)
    expect(await scraped(metrics)).toHaveProperty([series], is)
  })
})

describe('a series for each key (contract 8.4)', () => {
  const SERIES = 'platform_access_key_expiration_timestamp_seconds'

  test('follows the keys, and drops deleted ones', async () => {
    const metrics = managerMetrics(true)
    metrics.follow({ ...NO_OBJECTS, keyEnds: async (tell) => tell('ci', 1_795_255_200_500) })
    expect(await scraped(metrics)).toHaveProperty([`${SERIES}{name="ci"}`], 1_795_255_200.5)
    metrics.follow(NO_OBJECTS)
    expect((await metrics.scrape()).body).not.toContain(`${SERIES}{`)
  })

  test('is off by default', async () => {
    expect((await managerMetrics().scrape()).body).not.toContain(SERIES)
  })
})
