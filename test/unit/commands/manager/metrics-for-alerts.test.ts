import { describe, expect, test } from 'vitest'
import type { ManagerMetrics } from '../../../../src/commands/manager/metrics.ts'
import { NO_OBJECTS, managerMetrics, objectsOf, scraped } from './metrics-builder.ts'

const LATE = { count: 3, longestMs: 1500 }
const SIGNING_KEY = { kid: 'abc', createdMs: 1_792_663_200_000, endMs: 1_795_255_200_000 }

describe('metrics that alerts use (8.4)', () => {
  test.each<{ name: string; act: (metrics: ManagerMetrics) => void; series: string; is: number }>([
    {
      name: 'the expiry of a signing key',
      act: (m) => m.follow({ ...NO_OBJECTS, signingKeys: () => [SIGNING_KEY] }),
      series: 'platform_signing_key_not_after_timestamp_seconds{kid="abc"}',
      is: 1_795_255_200,
    },
    {
      name: 'the start of a signing key',
      act: (m) => m.follow({ ...NO_OBJECTS, signingKeys: () => [SIGNING_KEY] }),
      series: 'platform_signing_key_not_before_timestamp_seconds{kid="abc"}',
      is: 1_792_663_200,
    },
    {
      name: 'corrupt signing keys',
      act: (m) => m.follow({ ...NO_OBJECTS, signingKeyFaults: () => 2 }),
      series: 'platform_signing_key_faults',
      is: 2,
    },
    {
      name: 'revoked tokens that have not ended',
      act: (m) => m.follow({ ...NO_OBJECTS, revokedTokens: () => 130_000 }),
      series: 'platform_revoked_tokens',
      is: 130_000,
    },
    {
      name: 'records that are not stored',
      act: (m) => m.follow({ ...NO_OBJECTS, revocationBacklog: () => LATE }),
      series: 'platform_revocation_backlog',
      is: 3,
    },
    {
      name: 'the age of the oldest waiting record',
      act: (m) => m.follow({ ...NO_OBJECTS, revocationBacklog: () => LATE }),
      series: 'platform_revocation_backlog_seconds',
      is: 1.5,
    },
    {
      name: 'expired objects whose status lags',
      act: (m) => m.follow(objectsOf('OwnedAccessKey', { overdue: LATE })),
      series: 'platform_expirations_overdue{kind="OwnedAccessKey"}',
      is: 3,
    },
    {
      name: 'the longest lag of a status',
      act: (m) => m.follow(objectsOf('OwnedAccessKey', { overdue: LATE })),
      series: 'platform_expirations_overdue_seconds{kind="OwnedAccessKey"}',
      is: 1.5,
    },
    {
      name: 'a check that passes',
      act: (m) => m.followReadiness({ synced: () => null, seen: () => 'nothing seen' }),
      series: 'platform_ready{check="synced"}',
      is: 1,
    },
    {
      name: 'a check that fails',
      act: (m) => m.followReadiness({ synced: () => null, seen: () => 'nothing seen' }),
      series: 'platform_ready{check="seen"}',
      is: 0,
    },
  ])('$name', async ({ act, series, is }) => {
    const metrics = managerMetrics()
    act(metrics)
    expect(await scraped(metrics)).toHaveProperty([series], is)
  })
})
