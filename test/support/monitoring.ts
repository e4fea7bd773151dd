// The alerts and the dashboard of config/components/prometheus.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const FOLDER = join(import.meta.dirname, '../../config/components/prometheus')

/** The file of plain rules. */
export const RULES_FILE = join(FOLDER, 'rules.yml')

/** The files of tests of rules, for promtool. */
export const RULE_TESTS: readonly string[] = readdirSync(join(FOLDER, 'tests')).map((name) =>
  join(FOLDER, 'tests', name),
)

/** An alert as it stands in the file of rules. */
export interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook_url', string>>
}

/** The alerts, in the order of the file. */
export function alerts(): readonly Alert[] {
  const { groups } = parse(monitoringFile('rules.yml')) as {
    groups: readonly { rules: readonly Alert[] }[]
  }
  return groups.flatMap(({ rules }) => rules)
}

/** A panel of the dashboard as far as tests look at it. */
export interface Panel {
  readonly id: number
  readonly type: 'row' | 'stat' | 'timeseries'
  readonly title: string
  readonly description?: string
  readonly datasource?: unknown
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
  readonly targets?: readonly {
    readonly expr: string
    readonly legendFormat: string
    readonly datasource: unknown
  }[]
}

/** The dashboard as far as tests look at it. */
export interface Dashboard {
  readonly schemaVersion: number
  readonly annotations: { readonly list: readonly { readonly expr: string }[] }
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string }[]
  }
  readonly panels: readonly Panel[]
}

/** The dashboard. */
export const dashboard = (): Dashboard => JSON.parse(monitoringFile('dashboard.json')) as Dashboard

/** A file of the component. */
export const monitoringFile = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')

// The metrics and labels in a PromQL expression, to find those that do not exist.

/** Words and numbers of the language, and functions, that our expressions use; every other word names something. */
const WORDS = new Set(
  'and or unless on by sum max min count group absent_over_time abs rate increase changes time vector avg_over_time last_over_time max_over_time min_over_time histogram_quantile Inf'.split(
    ' ',
  ),
)

/** The names in an expression. */
export interface Named {
  /** Each selector as it stands there, such as `up{job="x"}`, without its range. */
  readonly selectors: readonly string[]
  readonly metrics: readonly string[]
  /** Labels that results have: those of `by`. */
  readonly by: readonly string[]
  /** Labels that sides are matched on. */
  readonly on: readonly string[]
}

/** The names in the expression. */
export function namedIn(expression: string): Named {
  const flat = expression.replaceAll(/\s+/g, ' ')
  const bare = flat.replaceAll(/\b(?:by|on) \([^)]*\)/g, ' ')
  const found = [...bare.matchAll(/([a-zA-Z_:][\w:]*)(\{(?:[^"}]|"[^"]*")*\})?/g)].filter(
    ([, word = ''], at, all) => !WORDS.has(word) && !isInside(bare, all[at]?.index ?? 0),
  )
  return {
    selectors: found.map(([selector]) => selector),
    metrics: found.map(([, metric = '']) => metric),
    by: listed(flat, 'by'),
    on: listed(flat, 'on'),
  }
}

/** Whether the place is within the brackets of a range, such as `[5m]`. */
const isInside = (text: string, at: number): boolean =>
  text.lastIndexOf('[', at) > text.lastIndexOf(']', at)

/** Whether a selector of our expressions selects a series, such as `up{job="x"}` as tests of rules write it. */
export function selects(selector: string, series: string): boolean {
  const labels = new Map(matchersOf(series).map(({ label, value }) => [label, value]))
  return (
    nameIn(selector) === nameIn(series) &&
    matchersOf(selector).every(({ label, operator, value }) => {
      const its = labels.get(label) ?? ''
      return operator === '=~' ? new RegExp(`^(?:${value})$`).test(its) : its === value
    })
  )
}

const nameIn = (selector: string): string => selector.replace(/\{.*/, '')

const matchersOf = (selector: string) =>
  Array.from(
    selector.matchAll(/(\w+)(=~?)"([^"]*)"/g),
    ([, label = '', operator = '', value = '']) => ({ label, operator, value }),
  )

const listed = (text: string, word: string): readonly string[] =>
  [...text.matchAll(new RegExp(`\\b${word} \\(([^)]*)\\)`, 'g'))].flatMap(([, labels = '']) =>
    labels.split(',').map((label) => label.trim()),
  )
