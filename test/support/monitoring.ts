// What config/components/prometheus holds, read as tests look at it.
import { readdirSync, readFileSync } from 'node:fs'
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
  const { groups } = parse(text('rules.yml')) as { groups: readonly { rules: readonly Alert[] }[] }
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
export const dashboard = (): Dashboard => JSON.parse(text('dashboard.json')) as Dashboard

/** A file of the component. */
export const text = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
