// Pages that list metrics, figures and log lines of the program are complete, and list nothing else.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { REASONS } from '../src/api/reasons.ts'
import { readDeliverySettings } from '../src/commands/delivery/flags.ts'
import { createDeliveryMetrics } from '../src/commands/delivery/metrics.ts'
import { createMetrics as createProcessMetrics } from '../src/commands/gateway/metrics.ts'
import { readManagerSettings } from '../src/commands/manager/flags.ts'
import { createManagerMetrics } from '../src/commands/manager/metrics.ts'
import { createSignInMetrics } from '../src/commands/sign-in/metrics.ts'
import { readSyncerSettings } from '../src/commands/syncer/flags.ts'
import { createSyncerMetrics } from '../src/commands/syncer/metrics.ts'
import { HAND_OVER_AFTER_MS, KEPT_AFTER_LAST_EXP_MS } from '../src/domain/signingkey/signing-key.ts'
import { LONGEST_TOKEN_BYTES } from '../src/domain/token/token-claims.ts'
import { NAMESPACE_ERROR_REASONS } from '../src/sync/namespaces/report.ts'
import { ERROR_REASONS } from '../src/sync/writes/observer.ts'
import { manualClock } from './support/manual-clock.ts'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const AROUND = { env: () => null, file: () => null }

describe('docs/operating.md: metrics (8.4)', () => {
  const invocation = readManagerSettings(['--per-object-metrics'], AROUND)
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  const delivery = readDeliverySettings([], AROUND)
  if (delivery.kind !== 'run') throw new Error(delivery.text)
  const programs = [
    createManagerMetrics(invocation.settings),
    createProcessMetrics(),
    createDeliveryMetrics(delivery.settings, manualClock(0)),
  ]
  for (const { followReadiness } of programs) followReadiness({})
  /** Such as `platform_tokens{state}`. */
  const inTable = new Set(
    [...textOf('docs/operating.md').matchAll(/^\| `([a-z_]+(?:\{[a-z,]+\})?)` \|/gm)].map(
      ([, metric = '']) => metric,
    ),
  )

  test('lists each metric of the program with its labels, and no other', async () => {
    const bodies = await Promise.all(programs.map(async ({ scrape }) => (await scrape()).body))
    const metrics = bodies.flatMap((body) => metricsIn(body))
    expect(inTable).toEqual(new Set(metrics))
  })
})

describe('docs/sign-in/README.md: metrics (27.1)', async () => {
  const { followReadiness, scrape } = createSignInMetrics()
  followReadiness({})
  const { body } = await scrape()

  test('lists each metric of the sign-in process that no other process has, and no other', () => {
    const shared = textOf('docs/operating.md')
    const own = metricsIn(body).filter((metric) => !shared.includes(`\`${metric}\``))
    const listed = textOf('docs/sign-in/README.md').matchAll(
      /^\| `(platform_[a-z_]+(?:\{[a-z,]+\})?)` \|/gm,
    )
    expect(Array.from(listed, ([, metric]) => metric)).toEqual(own)
  })
})

describe('docs/endpoint-sync.md: metrics (20)', async () => {
  const flags = ['virtual-kubeconfig', 'virtual-cluster', 'host-namespace', 'config']
  const invocation = readSyncerSettings(flags.map((flag) => `--${flag}=x`))
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  const metrics = createSyncerMetrics(invocation.settings)
  metrics.followReadiness({})
  const { body } = await metrics.scrape()
  const rowsOf = (page: string): ReadonlyMap<string, string> =>
    new Map(
      [...textOf(page).matchAll(/^\| `([a-z_]+(?:\{[a-z,]+\})?)` \| (.*) \|$/gm)].map(
        ([, metric = '', meaning = '']) => [metric, meaning],
      ),
    )
  const [own, shared] = [rowsOf('docs/endpoint-sync.md'), rowsOf('docs/operating.md')]

  test('lists each metric of the syncer that no other process has, and no other', () => {
    const others = metricsIn(body).filter((metric) => !shared.has(metric))
    expect(new Set(own.keys())).toEqual(new Set(others))
  })

  test.each(['state', 'direction', 'reason', 'result'])('lists each value of label %s', (label) => {
    const series = body.matchAll(
      new RegExp(`^(platform_(?:sync|patch)_\\w+)\\{.*${label}="(.+?)"`, 'gm'),
    )
    const missing = Array.from(series, ([, name = '', value = '']) => ({ name, value })).filter(
      ({ name, value }) => {
        const row = [...own].find(([metric]) => metric.startsWith(`${name}{`))
        return !row?.[1].includes(`\`${value}\``)
      },
    )
    expect(missing).toEqual([])
  })

  test('lists each reason of an Event', () => {
    const events = textOf('docs/endpoint-sync.md').split('\n## Events\n')[1]?.split('\n## ')[0]
    const listed = [...(events ?? '').matchAll(/^\| (`.*?) \|/gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    )
    expect(new Set(listed)).toEqual(SYNC_REASONS)
  })
})

/** Reasons of the syncer's Events; the last three are about the configuration. */
const SYNC_REASONS: ReadonlySet<string> = new Set([
  ...ERROR_REASONS,
  ...NAMESPACE_ERROR_REASONS,
  'ConfigInvalid',
  'PatchesNotServed',
  'ReverseNotServed',
])

/** Metrics of a scrape with their labels, without the metrics of the process and of Node. */
function metricsIn(body: string): readonly string[] {
  const names = [...body.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
  return names
    .filter((name) => !/^(process|nodejs)_/.test(name))
    .map((name) => {
      const series = new RegExp(`^${name}(?:_bucket|_count)?\\{(.*)\\}`, 'm').exec(body)?.[1] ?? ''
      const labels = [...series.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
      const own = CHANGING[name] ?? labels.filter((label) => label !== 'le')
      return own.length === 0 ? name : `${name}{${own.join(',')}}`
    })
}

/** Labels of metrics that have no series without objects. */
const CHANGING: Readonly<Record<string, readonly string[]>> = {
  platform_access_key_expiration_timestamp_seconds: ['name'],
  platform_signing_key_not_before_timestamp_seconds: ['kid'],
  platform_signing_key_not_after_timestamp_seconds: ['kid'],
  platform_ready: ['check'],
  platform_gateway_target_ready: ['kind', 'project', 'name'],
  platform_audit_agent_lag_seconds: ['cluster'],
}

test('docs/high-availability.md: times of a fail-over, computed from the flags (8.1)', () => {
  const invocation = readManagerSettings(['--leader-elect'], AROUND)
  const { leaseDurationMs = 0, retryPeriodMs = 0 } =
    (invocation.kind === 'run' && invocation.settings.leaderElection) || {}
  // As client-go: from one period to 1.2 more of them (src/kube/leader-election/elector.ts).
  const lookMs = retryPeriodMs * 2.2
  const rows = [...textOf('docs/high-availability.md').matchAll(/^\|.*\| ([\d.]+) s \|$/gm)]
  expect(rows.map(([, seconds]) => Number(seconds))).toEqual([
    lookMs / 1000,
    ...Array.from({ length: 3 }, () => (leaseDurationMs + lookMs) / 1000),
  ])
})

describe('figures in the docs are those of the program', () => {
  const invocation = readManagerSettings([], AROUND)
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  const { expiredRetentionMs, tokenMaxTtlMs, workers } = invocation.settings
  const hours = (ms: number): string => `${ms / 3_600_000} h`
  const days = (ms: number): string => `${ms / 86_400_000} days`

  test.each([
    { page: 'concepts', says: `${hours(expiredRetentionMs)} (\`--expired-retention\`)` },
    { page: 'concepts', says: `\`--token-max-ttl\` (${hours(tokenMaxTtlMs)})` },
    { page: 'concepts', says: `signs until it is ${days(HAND_OVER_AFTER_MS)} old` },
    {
      page: 'concepts',
      says: `published until ${hours(KEPT_AFTER_LAST_EXP_MS)} after the last token it signed ends`,
    },
    { page: 'troubleshooting', says: `\`--token-max-ttl\` (${hours(tokenMaxTtlMs)})` },
    { page: 'troubleshooting', says: `larger than ${LONGEST_TOKEN_BYTES / 1024} KiB` },
    { page: 'sizing', says: `${LONGEST_TOKEN_BYTES / 1024} KiB` },
    { page: 'sizing', says: `\`--workers\` (${workers})` },
  ])('docs/$page.md: $says', ({ page, says }) => {
    expect(textOf(`docs/${page}.md`)).toContain(says)
  })
})

describe('docs/troubleshooting.md', () => {
  const [before = '', alerts = ''] = textOf('docs/troubleshooting.md').split('\n## Alerts\n')
  const [conditions = '', syncEvents = ''] = before.split('\n## Events of endpoint sync\n')
  const entriesOf = (text: string): ReadonlySet<string> =>
    new Set([...text.matchAll(/^### (\w+)(?: of endpoint sync)?$/gm)].map(([, name = '']) => name))

  const reasons: readonly string[] = Object.values(REASONS).flat()

  test('each reason of a condition or an event has an entry, and each entry a reason (4.1, 4.2, 4.3, 4.5)', () => {
    expect(entriesOf(conditions)).toEqual(new Set(reasons))
  })

  test('each reason of an Event of the syncer has an entry, and each entry a reason (20)', () => {
    expect(entriesOf(syncEvents)).toEqual(SYNC_REASONS)
  })

  test('a controller, a rule of the domain or the gateway uses each reason (4.1, 4.2, 4.3, 4.5, 9.5)', () => {
    const sources = ['controllers', 'delivery', 'domain', 'gateway'].flatMap((folder) =>
      readdirSync(join(ROOT, 'src', folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => textOf(`src/${folder}/${name}`)),
    )
    const isUsed = (reason: string): boolean =>
      sources.some((source) => source.includes(`'${reason}'`) || source.includes(`${reason}:`))
    expect(reasons.filter((reason) => !isUsed(reason))).toEqual([])
  })

  test('each log line that it quotes with the next step of the program is in a source (8.5)', () => {
    const quoted = `${before}${alerts}`.matchAll(/`([^`]+, (?:trying|listing|going) [^`]+)`/g)
    const lines = new Set(Array.from(quoted, ([, line = '']) => line.replaceAll('\n', ' ')))
    expect(lines.size).toBeGreaterThan(5)
    const program = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => textOf(`src/${name}`))
      .join('\n')
    expect([...lines].filter((line) => !program.includes(`'${line}'`))).toEqual([])
  })

  test.each([{ entries: conditions }, { entries: syncEvents }, { entries: alerts }])(
    'entries are in alphabetical order',
    ({ entries }) => {
      const names = [...entriesOf(entries)]
      expect(names).toEqual(names.toSorted())
    },
  )

  test('each alert has an entry, and each entry an alert', () => {
    const rules = textOf('config/components/prometheus/rules.yml')
    const names = [...rules.matchAll(/^ *- alert: (\w+)$/gm)].map(([, name = '']) => name)
    expect(names).not.toEqual([])
    expect(entriesOf(alerts)).toEqual(new Set(names))
  })
})
