// The suites of charts/*/tests, one for each template, by helm-unittest.
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { AGENT, CHARTS, PLATFORM } from '../../../tools/charts/files.ts'
import { ensureHelmUnittest } from '../../../tools/helm-unittest/program.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { chartRenderer } from './chart-renderer.ts'
import { plantedChart } from './planted-chart.ts'

const unittest = await programOrSkip(ensureHelmUnittest)
const helm = await programOrSkip(ensureHelm)
const charts = chartRenderer(helm)
afterAll(() => charts.remove())

const suites = globSync('*/tests/*_test.yaml', { cwd: CHARTS })
  .toSorted()
  .map((path) => ({ chart: path.split('/')[0] ?? '', suite: basename(path) }))

/** What the suite says of a chart in a folder; passed = null. */
async function failuresOf(folder: string, suite: string): Promise<string | null> {
  const args = ['--strict', '--file', `tests/${suite}`, folder]
  try {
    await promisify(execFile)(unittest, args)
    return null
  } catch (error) {
    return (error as { readonly stdout: string }).stdout
  }
}

test.each(suites)('suite $suite of chart $chart passes (34.1)', async ({ chart, suite }) => {
  expect(await failuresOf(join(CHARTS, chart), suite)).toBeNull()
})

test.each([PLATFORM, AGENT])('each template of chart %s has a suite (34.1)', (chart) => {
  const tested = globSync('tests/*_test.yaml', { cwd: join(CHARTS, chart) }).flatMap(
    (path) =>
      (parse(readFileSync(join(CHARTS, chart, path), 'utf8')) as { readonly templates: string[] })
        .templates,
  )
  const templates = globSync('**/*.{yaml,txt}', { cwd: join(CHARTS, chart, 'templates') })
  expect(tested.toSorted()).toEqual(templates.toSorted())
})

test.each([PLATFORM, AGENT])('the package of chart %s has no suite (34.4)', async (chart) => {
  const args = ['package', join(CHARTS, chart), '--destination', charts.folder]
  const { stdout } = await promisify(execFile)(helm, args)
  const archive = stdout.trim().split(' ').at(-1) ?? ''
  const { stdout: names } = await promisify(execFile)('tar', ['--list', '--file', archive])
  expect(dirname(archive)).toBe(charts.folder)
  expect(names.split('\n').filter((name) => name.endsWith('_test.yaml'))).toEqual([])
  expect(names).toContain(`${chart}/templates/namespace.yaml\n`)
})

/** A fault of a template or helper, and the suite that fails by it. */
const FAULTS = [
  {
    chart: PLATFORM,
    suite: 'namespace',
    file: 'namespace.yaml',
    from: 'resource-policy: keep',
    to: 'resource-policy: delete',
  },
  {
    chart: PLATFORM,
    suite: 'namespace',
    file: 'namespace.yaml',
    from: 'if ne .Values.namespace .Release.Namespace',
    to: 'if true',
  },
  {
    chart: PLATFORM,
    suite: 'cluster',
    file: 'cluster.yaml',
    from: 'if .Values.crds.enabled',
    to: 'if true',
  },
  { chart: PLATFORM, suite: 'cluster', file: '_shared.tpl', from: '<1.36.0-0', to: '<1.35.0-0' },
  {
    chart: PLATFORM,
    suite: 'cluster',
    file: '_shared.tpl',
    from: '"always") (and',
    to: '"never") (and',
  },
  {
    chart: PLATFORM,
    suite: 'cluster',
    file: '_shared.tpl',
    from: '(printf "namespace: %s\\n" (.root.Values.namespace | quote))',
    to: '"namespace: other\\n"',
  },
  {
    chart: PLATFORM,
    suite: 'config',
    file: 'config.yaml',
    from: 'with .Values.config',
    to: 'with merge (dict "a" 1) .Values.config',
  },
  { chart: PLATFORM, suite: 'manager', file: 'manager.yaml', from: '- --leader-elect', to: '' },
  {
    chart: PLATFORM,
    suite: 'manager',
    file: '_shared.tpl',
    from: 'if .Values.image.digest',
    to: 'if false',
  },
  {
    chart: PLATFORM,
    suite: 'manager',
    file: '_shared.tpl',
    from: 'with .values.priorityClassName',
    to: 'with .values.class',
  },
  {
    chart: PLATFORM,
    suite: 'gateway',
    file: 'gateway.yaml',
    from: 'if eq $tls.mode "certManager"',
    to: 'if ne $tls.mode "own"',
  },
  {
    chart: PLATFORM,
    suite: 'gateway',
    file: 'gateway.yaml',
    from: 'if not .Values.gateway.autoscaling.enabled',
    to: 'if true',
  },
  {
    chart: PLATFORM,
    suite: 'gateway',
    file: '_helpers.tpl',
    from: 'gateway-certificate',
    to: 'certificate',
  },
  {
    chart: PLATFORM,
    suite: 'gateway',
    file: '_shared.tpl',
    from: '-}}StatefulSet{{-',
    to: '-}}Deployment{{-',
  },
  {
    chart: PLATFORM,
    suite: 'gateway',
    file: 'gateway.yaml',
    from: '(not $audit.enabled)',
    to: 'false',
  },
  { chart: PLATFORM, suite: 'routes', file: 'routes.yaml', from: 'if .enabled', to: 'if true' },
  {
    chart: PLATFORM,
    suite: 'monitoring',
    file: 'monitoring.yaml',
    from: '"labels" .labels',
    to: '"labels" (dict)',
  },
  {
    chart: PLATFORM,
    suite: 'network-policies',
    file: 'network-policies.yaml',
    from: 'if .Values.networkPolicy.enabled',
    to: 'if true',
  },
  { chart: PLATFORM, suite: 'extra', file: 'extra.yaml', from: 'toYaml .', to: 'tpl (toYaml .) $' },
  {
    chart: PLATFORM,
    suite: 'check',
    file: 'tests/check.yaml',
    from: 'hook-succeeded',
    to: 'hook-failed',
  },
  {
    chart: PLATFORM,
    suite: 'notes',
    file: 'NOTES.txt',
    from: 'not (or .Values.issuerURL',
    to: 'or true (or .Values.issuerURL',
  },
  {
    chart: AGENT,
    suite: 'namespace',
    file: 'namespace.yaml',
    from: 'resource-policy: keep',
    to: 'resource-policy: delete',
  },
  {
    chart: AGENT,
    suite: 'cluster',
    file: 'cluster.yaml',
    from: 'if .Values.target.enabled',
    to: 'if true',
  },
  {
    chart: AGENT,
    suite: 'direct',
    file: 'direct.yaml',
    from: 'if .Values.direct.persistence.enabled',
    to: 'if true',
  },
  {
    chart: AGENT,
    suite: 'direct',
    file: 'direct.yaml',
    from: 'if $audit.enabled',
    to: 'if false',
  },
  {
    chart: AGENT,
    suite: 'monitoring',
    file: 'monitoring.yaml',
    from: 'if .enabled',
    to: 'if true',
  },
  { chart: AGENT, suite: 'extra', file: 'extra.yaml', from: 'toYaml .', to: 'tpl (toYaml .) $' },
  {
    chart: AGENT,
    suite: 'notes',
    file: 'NOTES.txt',
    from: 'if .Values.webhook.enabled',
    to: 'if true',
  },
]

describe('a planted fault', () => {
  test.each(FAULTS)(
    'is found in $chart by suite $suite: $file has `$to` for `$from` (34.1)',
    async ({ chart, suite, file, from, to }) => {
      const change = (text: string): string => text.replace(from, () => to)
      const folder = plantedChart(charts, chart, { file: `templates/${file}`, change })
      expect(await failuresOf(folder, `${suite}_test.yaml`)).toContain('- asserts[')
    },
  )
})
