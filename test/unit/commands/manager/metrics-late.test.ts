import { describe, expect, test } from 'vitest'
import type { Metrics } from '../../../../src/commands/manager/metrics.ts'
import { none, scraped, started } from './metrics-stage.ts'

const LATE = { count: 3, longestMs: 1500 }
const SIGNING_KEY = { kid: 'abc', createdMs: 1_792_663_200_000, endMs: 1_795_255_200_000 }

describe('what alerts stand on (8.4)', () => {
  test.each<{ name: string; happens: (metrics: Metrics) => void; series: string; is: number }>([
    {
      name: 'the end of a signing key',
      happens: (m) => m.follow({ ...none, signingKeys: () => [SIGNING_KEY] }),
      series: 'platform_signing_key_not_after_timestamp_seconds{kid="abc"}',
      is: 1_795_255_200,
    },
    {
      name: 'the beginning of a signing key',
      happens: (m) => m.follow({ ...none, signingKeys: () => [SIGNING_KEY] }),
      series: 'platform_signing_key_not_before_timestamp_seconds{kid="abc"}',
      is: 1_792_663_200,
    },
    {
      name: 'corrupt signing keys',
      happens: (m) => m.follow({ ...none, signingKeyFaults: () => 2 }),
      series: 'platform_signing_key_faults',
      is: 2,
    },
    {
      name: 'revoked tokens that have not ended',
      happens: (m) => m.follow({ ...none, revokedTokens: () => 130_000 }),
      series: 'platform_revoked_tokens',
      is: 130_000,
    },
    {
      name: 'records that are not stored',
      happens: (m) => m.follow({ ...none, revocationBacklog: () => LATE }),
      series: 'platform_revocation_backlog',
      is: 3,
    },
    {
      name: 'how long the oldest waits',
      happens: (m) => m.follow({ ...none, revocationBacklog: () => LATE }),
      series: 'platform_revocation_backlog_seconds',
      is: 1.5,
    },
    {
      name: 'ends that status does not tell',
      happens: (m) => m.follow({ ...none, overdueByKind: () => ({ OwnedAccessKey: LATE }) }),
      series: 'platform_expirations_overdue{kind="OwnedAccessKey"}',
      is: 3,
    },
    {
      name: 'how late the latest is',
      happens: (m) => m.follow({ ...none, overdueByKind: () => ({ OwnedAccessKey: LATE }) }),
      series: 'platform_expirations_overdue_seconds{kind="OwnedAccessKey"}',
      is: 1.5,
    },
    {
      name: 'a check that passes',
      happens: (m) => m.followReadiness({ synced: () => null, seen: () => 'nothing seen' }),
      series: 'platform_ready{check="synced"}',
      is: 1,
    },
    {
      name: 'a check that fails',
      happens: (m) => m.followReadiness({ synced: () => null, seen: () => 'nothing seen' }),
      series: 'platform_ready{check="seen"}',
      is: 0,
    },
  ])('$name', async ({ happens, series, is }) => {
    const metrics = started()
    happens(metrics)
    expect(await scraped(metrics)).toHaveProperty([series], is)
  })
})
