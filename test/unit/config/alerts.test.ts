// The texts of the alerts, and that each alert has a test. Whether they fire is tested by promtool, in
// test/cluster/metrics.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  ALL_ALERTS,
  DIRECT_ALERTS,
  prometheusRule,
} from '../../../tools/generate/prometheus-rule.ts'
import { RULE_TESTS, alerts, monitoringFile, namedIn, selects } from '../../support/monitoring.ts'

const TROUBLESHOOTING = readFileSync(
  join(import.meta.dirname, '../../../docs/troubleshooting.md'),
  'utf8',
)
const ALL = alerts()
const PREFIX = 'ManagementOperator'

describe('the alerts (8.4)', () => {
  test('have unique names with one prefix', () => {
    const names = ALL.map(({ alert }) => alert)
    expect(names.length).toBeGreaterThan(20)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !name.startsWith(PREFIX))).toEqual([])
  })

  test.each(ALL)('$alert has a summary, a severity and a link to its runbook', (alert) => {
    const { summary, description, runbook_url: runbook } = alert.annotations
    expect(Object.keys(alert.annotations).toSorted()).toEqual([
      'description',
      'runbook_url',
      'summary',
    ])
    expect([summary, description].map((sentence) => sentence.at(-1))).toEqual(['.', '.'])
    expect(alert.labels).toEqual({ severity: expect.stringMatching(/^(critical|warning)$/) })
    expect(runbook).toBe(`docs/troubleshooting.md#${alert.alert.toLowerCase()}`)
    expect(TROUBLESHOOTING).toContain(`\n### ${alert.alert}\n`)
  })

  test.each(ALL)('$alert uses only labels of its result in its texts', ({ expr, annotations }) => {
    const used = [
      ...Object.values(annotations)
        .join()
        .matchAll(/\$labels\.(\w+)/g),
    ]
    const { by } = namedIn(expr)
    const has = by.length > 0 ? by : ['namespace', 'job', 'instance', 'check']
    expect(used.map(([, label = '']) => label).filter((label) => !has.includes(label))).toEqual([])
  })

  test.each(ALL)('$alert is about one namespace of one cluster', ({ expr }) => {
    const lists = Array.from(expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g), ([, labels = '']) =>
      labels.split(', '),
    )
    const wide = lists.filter(
      (labels) => !['cluster', 'namespace'].every((l) => labels.includes(l)),
    )
    expect(wide).toEqual([])
    // `vector` and `absent` give no labels: they may stand for all clusters, but not for one of several.
    expect(expr).not.toMatch(/\babsent\(/)
  })

  test.each(ALL)('$alert outlasts a rolling update', (alert) => {
    expect(minutes(alert.for)).toBeGreaterThanOrEqual(2)
  })

  test('docs/troubleshooting.md has sections for these alerts only', () => {
    const sections = [...TROUBLESHOOTING.matchAll(/^### (ManagementOperator\w+)$/gm)]
    const names = new Set(ALL.map(({ alert }) => alert))
    expect(sections.map(([, name = '']) => name).filter((name) => !names.has(name))).toEqual([])
  })

  test('each has a test that fires it and one that does not', () => {
    const tested = RULE_TESTS.flatMap(expectations)
    const missing = ALL.filter(({ alert }) => {
      const its = tested.filter(({ alertname }) => alertname === alert)
      return !its.some(fires) || its.every(fires)
    })
    expect(missing.map(({ alert }) => alert)).toEqual([])
  })

  // Without its series an alert could not fire, and its silence would show nothing.
  test.each(ordinary())('every alert has its series during $name', ({ series }) => {
    const unseen = ALL.flatMap(({ alert, expr }) =>
      namedIn(expr)
        .selectors.filter((selector) => !series.some((one) => selects(selector, one)))
        .map((selector) => `${alert}: ${selector}`),
    )
    expect(unseen).toEqual([])
  })

  test('ordinary events of an installation are tested to fire nothing', () => {
    expect(ordinary().length).toBeGreaterThan(4)
  })

  test('the PrometheusRule holds the same groups', () => {
    const rule = monitoringFile('prometheus-rule.yaml')
    expect(rule).toBe(prometheusRule(monitoringFile('rules.yml'), ALL_ALERTS))
    expect((parse(rule) as { spec: unknown }).spec).toEqual(parse(monitoringFile('rules.yml')))
  })

  // In a cluster without managers their alerts ...Down would fire.
  test('the PrometheusRule for direct endpoints holds all groups but that of the platform', () => {
    const rule = monitoringFile('../prometheus-direct/prometheus-rule.yaml')
    expect(rule).toBe(prometheusRule(monitoringFile('rules.yml'), DIRECT_ALERTS))
    const { groups } = parse(monitoringFile('rules.yml')) as {
      readonly groups: readonly { readonly name: string }[]
    }
    expect(groups.map(({ name }) => name)).toEqual([
      'management-operator',
      'management-operator-direct',
      'management-operator-process',
    ])
    expect((parse(rule) as { spec: unknown }).spec).toEqual({ groups: groups.slice(1) })
    expect(rule).not.toContain('platform_gateway_watch_age_seconds')
  })
})

test('the PrometheusRule rejects rules without groups', () => {
  expect(() => prometheusRule('rules: []\n', ALL_ALERTS)).toThrow(
    'the rules have no line `groups:`',
  )
})

interface Expectation {
  readonly alertname: string
  readonly exp_alerts?: readonly unknown[]
}

/** A test of rules in which nothing fires, with its series. */
interface Ordinary {
  readonly name: string
  readonly series: readonly string[]
}

function ordinary(): readonly Ordinary[] {
  const file = RULE_TESTS.find((path) => path.endsWith('/healthy.yml')) ?? ''
  const { tests } = parse(readFileSync(file, 'utf8')) as {
    tests: readonly {
      name: string
      input_series: readonly { series: string }[]
      promql_expr_test: readonly { exp_samples: readonly unknown[] | null }[]
    }[]
  }
  return tests
    .filter(({ promql_expr_test: looks }) =>
      looks.every(({ exp_samples: samples }) => samples?.length === 0),
    )
    .map(({ name, input_series: all }) => ({ name, series: all.map(({ series }) => series) }))
}

const fires = ({ exp_alerts: expected = [] }: Expectation): boolean => expected.length > 0

function expectations(file: string): readonly Expectation[] {
  const { tests } = parse(readFileSync(file, 'utf8')) as {
    tests: readonly { alert_rule_test?: readonly Expectation[] }[]
  }
  return tests.flatMap(({ alert_rule_test: rows = [] }) => rows)
}

function minutes(duration: string): number {
  const [, count = '', unit = ''] = /^(\d+)(m|h)$/.exec(duration) ?? []
  return Number(count) * (unit === 'h' ? 60 : 1)
}
