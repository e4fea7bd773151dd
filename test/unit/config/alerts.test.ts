// The alerts as texts: what each says, and that each is tested. Whether they fire is promtool's to say, in
// test/cluster/metrics.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { prometheusRule } from '../../../tools/generate/prometheus-rule.ts'
import { RULE_TESTS, alerts, monitoringFile, namedIn, selects } from '../../support/monitoring.ts'

const TROUBLESHOOTING = readFileSync(
  join(import.meta.dirname, '../../../docs/troubleshooting.md'),
  'utf8',
)
const ALL = alerts()
const PREFIX = 'ManagementOperator'

describe('the alerts (8.4)', () => {
  test('no two have the same name, and all begin alike', () => {
    const names = ALL.map(({ alert }) => alert)
    expect(names.length).toBeGreaterThan(20)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !name.startsWith(PREFIX))).toEqual([])
  })

  test.each(ALL)('$alert says what is wrong, how bad it is and where to read on', (alert) => {
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

  test.each(ALL)(
    '$alert names in its sentences only labels that it has',
    ({ expr, annotations }) => {
      const used = [
        ...Object.values(annotations)
          .join()
          .matchAll(/\$labels\.(\w+)/g),
      ]
      const { by } = namedIn(expr)
      const has = by.length > 0 ? by : ['namespace', 'job', 'instance', 'check']
      expect(used.map(([, label = '']) => label).filter((label) => !has.includes(label))).toEqual(
        [],
      )
    },
  )

  test.each(ALL)('$alert is of one namespace of one cluster', ({ expr }) => {
    const lists = Array.from(expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g), ([, labels = '']) =>
      labels.split(', '),
    )
    const wide = lists.filter(
      (labels) => !['cluster', 'namespace'].every((l) => labels.includes(l)),
    )
    expect(wide).toEqual([])
    // What it makes up has no labels: it may stand in for all clusters, and for none of several.
    expect(expr).not.toMatch(/\babsent\(/)
  })

  test.each(ALL)('$alert outlasts a rolling update', (alert) => {
    expect(minutes(alert.for)).toBeGreaterThanOrEqual(2)
  })

  test('docs/troubleshooting.md has a section for no other', () => {
    const sections = [...TROUBLESHOOTING.matchAll(/^### (ManagementOperator\w+)$/gm)]
    const names = new Set(ALL.map(({ alert }) => alert))
    expect(sections.map(([, name = '']) => name).filter((name) => !names.has(name))).toEqual([])
  })

  test('each is tested where it fires and where it does not', () => {
    const tested = RULE_TESTS.flatMap(expectations)
    const missing = ALL.filter(({ alert }) => {
      const its = tested.filter(({ alertname }) => alertname === alert)
      return !its.some(fires) || its.every(fires)
    })
    expect(missing.map(({ alert }) => alert)).toEqual([])
  })

  // Else it could not fire there, and its silence would show nothing.
  test.each(ordinary())('while there is $name, each has what it looks at', ({ series }) => {
    const unseen = ALL.flatMap(({ alert, expr }) =>
      namedIn(expr)
        .selectors.filter((selector) => !series.some((one) => selects(selector, one)))
        .map((selector) => `${alert}: ${selector}`),
    )
    expect(unseen).toEqual([])
  })

  test('what happens to every installation now and then is tested', () => {
    expect(ordinary().length).toBeGreaterThan(4)
  })

  test('the PrometheusRule holds the same groups', () => {
    const rule = monitoringFile('prometheus-rule.yaml')
    expect(rule).toBe(prometheusRule(monitoringFile('rules.yml')))
    expect((parse(rule) as { spec: unknown }).spec).toEqual(parse(monitoringFile('rules.yml')))
  })
})

test('rules without groups make no PrometheusRule', () => {
  expect(() => prometheusRule('rules: []\n')).toThrow('the rules have no line `groups:`')
})

interface Expectation {
  readonly alertname: string
  readonly exp_alerts?: readonly unknown[]
}

/** A time of an installation in which nothing fires, with the series that there are. */
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
