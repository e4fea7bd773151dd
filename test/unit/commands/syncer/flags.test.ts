import { describe, expect, test } from 'vitest'
import { readSyncerSettings } from '../../../../src/commands/syncer/flags.ts'
import { createSyncerMetrics, leaseName } from '../../../../src/commands/syncer/metrics.ts'
import { METRIC_HELP } from '../../../../src/api/metrics.ts'
import { NAMESPACE_ERROR_REASONS } from '../../../../src/sync/namespaces/report.ts'
import { OBJECT_STATES } from '../../../../src/sync/pair/state.ts'
import { ERROR_REASONS } from '../../../../src/sync/writes/observer.ts'
import { seriesOf, sumOf, valueOf } from '../../../support/metrics-page.ts'

const REQUIRED = [
  '--virtual-kubeconfig=v',
  '--virtual-cluster=vc',
  '--host-namespace=ns',
  '--config=c.yaml',
]

const settingsOf = (...argv: readonly string[]) => {
  const invocation = readSyncerSettings([...REQUIRED, ...argv])
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  return invocation.settings
}

const cidrsOf = (cidrs: readonly unknown[]): number => cidrs.length

describe('the flags of syncer (16.1)', () => {
  test('have defaults where they are not required', () => {
    const { leaderElection: _, ...settings } = settingsOf()
    expect(settings).toEqual({
      virtualKubeconfig: 'v',
      hostKubeconfig: null,
      virtualCluster: 'vc',
      hostNamespace: 'ns',
      serviceName: null,
      config: 'c.yaml',
      addresses: { denied: [], allowedExternal: [] },
      metricsAddress: { host: null, port: 8080 },
      healthAddress: { host: null, port: 8081 },
      workers: expect.any(Number),
      logLevel: 'info',
    })
  })

  test.each<{ name: string; argv: readonly string[]; denied: number }>([
    { name: 'none', argv: [], denied: 0 },
    { name: 'one', argv: ['--deny-cidr=10.0.0.0/8'], denied: 1 },
    { name: 'with a comma', argv: ['--deny-cidr=10.0.0.0/8,fd00::/8'], denied: 2 },
    { name: 'given twice', argv: ['--deny-cidr=10.0.0.0/8', '--deny-cidr', 'fd00::/8'], denied: 2 },
    {
      name: 'given twice with a comma',
      argv: ['--deny-cidr=10.0.0.0/8,11.0.0.0/8', '--deny-cidr=12.0.0.0/8'],
      denied: 3,
    },
    { name: 'empty, and another', argv: ['--deny-cidr=', '--deny-cidr=10.0.0.0/8'], denied: 1 },
  ])('take ranges: $name', ({ argv, denied }) => {
    const { addresses } = settingsOf(...argv)
    expect(cidrsOf(addresses.denied)).toBe(denied)
    expect(addresses.allowedExternal).toEqual([])
  })

  test('take external IPs apart from denied ones', () => {
    const { addresses } = settingsOf(
      '--allow-external-ip-cidr=1.2.3.0/24',
      '--deny-cidr=10.0.0.0/8',
    )
    expect([addresses.allowedExternal.length, addresses.denied.length]).toEqual([1, 1])
  })

  test('of another kind count once, the last time', () => {
    expect(settingsOf('--virtual-cluster=other').virtualCluster).toBe('other')
  })

  test.each<{ name: string; argv: readonly string[]; says: readonly string[] }>([
    {
      name: 'nothing',
      argv: [],
      says: [
        '--virtual-kubeconfig is required',
        '--virtual-cluster is required',
        '--host-namespace is required',
        '--config is required',
      ],
    },
    {
      name: 'required ones that are empty',
      argv: ['--virtual-cluster=', '--host-namespace=', '--config=', '--virtual-kubeconfig='],
      says: ['--virtual-cluster is required', '--config is required'],
    },
    {
      name: 'many faults at once',
      argv: [
        '--virtual-cluster=UPPER',
        '--host-namespace=a.b',
        '--service-name=-x',
        '--deny-cidr=10.0.0.1/8',
        '--allow-external-ip-cidr=x',
        '--workers=0',
        '--metrics-bind-address=x',
        '--bogus',
      ],
      says: [
        '--virtual-cluster is "UPPER", accepted is a DNS label of at most 40 characters',
        '--host-namespace is "a.b", accepted is a DNS label of at most 63',
        '--service-name is "-x"',
        '--deny-cidr is "10.0.0.1/8", accepted is a range',
        '--allow-external-ip-cidr is "x"',
        '--workers is "0"',
        '--metrics-bind-address is "x"',
        '"--bogus" is not a flag',
        '--virtual-kubeconfig is required',
        '--config is required',
      ],
    },
    {
      name: 'a range with an empty one',
      argv: [...REQUIRED, '--deny-cidr=10.0.0.0/8,'],
      says: ['--deny-cidr is'],
    },
    {
      name: 'one good range and one bad',
      argv: [...REQUIRED, '--deny-cidr=10.0.0.0/8', '--deny-cidr=x'],
      says: ['--deny-cidr is "10.0.0.0/8,x"'],
    },
    {
      name: 'a long name',
      argv: [...REQUIRED, `--virtual-cluster=${'a'.repeat(41)}`],
      says: ['at most 40'],
    },
    {
      name: 'times of the election',
      argv: [...REQUIRED, '--leader-elect-lease-duration=1s'],
      says: ['leader-elect'],
    },
    { name: 'no election', argv: [...REQUIRED, '--leader-elect=false'], says: ['is not a flag'] },
  ])('are refused with all faults in one line: $name', ({ argv, says }) => {
    const invocation = readSyncerSettings(argv)
    expect(invocation.kind).toBe('refuse')
    const text = invocation.kind === 'refuse' ? invocation.text : ''
    expect(text.trim().split('\n')).toHaveLength(1)
    for (const part of says) expect(text).toContain(part)
  })

  test('take a name of 40 characters', () => {
    expect(settingsOf(`--virtual-cluster=${'a'.repeat(40)}`).virtualCluster).toHaveLength(40)
  })

  test.each(['--help', '--version'])('%s prints, whatever else is wrong', (flag) => {
    expect(readSyncerSettings([flag, '--workers=0']).kind).toBe('print')
  })
})

test('the Lease has the name of the virtual cluster (16.1)', () => {
  expect(leaseName('vc')).toBe('syncer-vc')
})

describe('the metrics of syncer (20)', () => {
  const page = async (act: (metrics: ReturnType<typeof createSyncerMetrics>) => unknown) => {
    const metrics = createSyncerMetrics(settingsOf())
    await act(metrics)
    return (await metrics.scrape()).body
  }
  const KINDS = ['Endpoints', 'Service', 'Secret', 'ConfigMap']

  test('are all there from the start, at zero', async () => {
    const series = seriesOf(await page(() => undefined))
    const expected = KINDS.flatMap((kind) => [
      ...OBJECT_STATES.map((state) => `platform_sync_objects{kind="${kind}",state="${state}"}`),
      ...ERROR_REASONS.map(
        (reason) => `platform_sync_errors_total{kind="${kind}",reason="${reason}"}`,
      ),
      ...['toHost', 'toVirtual'].map(
        (to) => `platform_sync_writes_total{kind="${kind}",direction="${to}"}`,
      ),
    ])
    const others = [
      'platform_sync_config_valid',
      ...NAMESPACE_ERROR_REASONS.map(
        (reason) => `platform_sync_errors_total{kind="Namespace",reason="${reason}"}`,
      ),
      'platform_sync_lag_seconds_count',
      'platform_patch_seconds_count',
      ...['value', 'removed', 'error'].map(
        (result) => `platform_patch_evaluations_total{result="${result}"}`,
      ),
      'leader_election_master_status{name="syncer-vc"}',
    ]
    for (const name of [...expected, ...others]) expect([name, series.get(name)]).toEqual([name, 0])
    const ours = [...series.keys()].filter((name) => /^platform_(?:sync|patch)_/.test(name))
    expect(ours.filter((name) => !/_(?:bucket|sum|count)\b/.test(name)).toSorted()).toEqual(
      [...expected, ...others]
        .filter((name) => name.startsWith('platform') && !name.endsWith('_count'))
        .toSorted(),
    )
  })

  test.each<{
    name: string
    act: (metrics: ReturnType<typeof createSyncerMetrics>) => unknown
    series: string
    is: number
  }>([
    {
      name: 'a valid configuration',
      act: (m) => m.configIsValid(true),
      series: 'platform_sync_config_valid',
      is: 1,
    },
    {
      name: 'an invalid one',
      act: (m) => {
        m.configIsValid(true)
        m.configIsValid(false)
      },
      series: 'platform_sync_config_valid',
      is: 0,
    },
    {
      name: 'the leader',
      act: (m) => m.leads(true),
      series: 'leader_election_master_status{name="syncer-vc"}',
      is: 1,
    },
    {
      name: 'a write',
      act: (m) => m.observer('services').wrote('toVirtual'),
      series: 'platform_sync_writes_total{kind="Service",direction="toVirtual"}',
      is: 1,
    },
    {
      name: 'an error',
      act: (m) => m.observer('configMaps').failed('NameTaken'),
      series: 'platform_sync_errors_total{kind="ConfigMap",reason="NameTaken"}',
      is: 1,
    },
    {
      name: 'a lag',
      act: (m) => m.observer('secrets').caughtUp(2),
      series: 'platform_sync_lag_seconds_sum',
      is: 2,
    },
    {
      name: 'the objects of a kind',
      act: (m) => m.follow((kind) => (kind === 'endpoints' ? { synced: 7, failed: 1 } : {})),
      series: 'platform_sync_objects{kind="Endpoints",state="synced"}',
      is: 7,
    },
    {
      name: 'an evaluation',
      act: (m) => m.timed(async () => ({ kind: 'remove' }))({} as never),
      series: 'platform_patch_evaluations_total{result="removed"}',
      is: 1,
    },
  ])('count $name', async ({ act, series, is }) => {
    expect(valueOf(await page(act), series)).toBe(is)
  })

  test('count each evaluation once, and time it', async () => {
    const body = await page((m) => m.timed(async () => ({ kind: 'value', json: '1' }))({} as never))
    expect(sumOf(body, 'platform_patch_evaluations_total')).toBe(1)
    expect(valueOf(body, 'platform_patch_seconds_count')).toBe(1)
  })

  test('have a sentence each', () => {
    const ours = Object.entries(METRIC_HELP).filter(([name]) =>
      /^platform_(?:sync|patch)_/.test(name),
    )
    expect(ours.length).toBeGreaterThanOrEqual(7)
    for (const [, help] of ours) expect(help).toMatch(/\.$/)
  })
})
