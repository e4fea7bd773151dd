// The metrics and readiness checks that the docs list, and those on the pages of processes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { familiesOf, titleOf } from '../../support/metrics-page.ts'

const pageOf = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8')
const DIRECT = pageOf('direct-endpoint.md')

/** The metrics that docs/operating.md lists, with their labels. */
export const listedMetrics = listedIn(pageOf('operating.md'))

const isOfDirect = (title: string): boolean =>
  title.startsWith('platform_direct_') || title === 'platform_audit_spool_bytes'

/** Those that docs/direct-endpoint.md lists, which only a direct endpoint has. */
export const listedMetricsOfDirect = listedIn(DIRECT).filter(isOfDirect)

function listedIn(page: string): readonly string[] {
  const rows = page.matchAll(/^\| `([a-z_]+(?:\{[a-z,]+\})?)` \|/gm)
  return Array.from(rows, ([, title = '']) => sorted(title)).toSorted()
}

function sorted(title: string): string {
  return title.replace(
    /\{(.*)\}/,
    (_, labels: string) => `{${labels.split(',').toSorted().join(',')}}`,
  )
}

/** The metrics of a process, without those of the process and of Node.js, which the docs do not list one by one. */
export const ownMetrics = (page: string): readonly string[] =>
  familiesOf(page)
    .filter(({ name }) => !/^(process|nodejs)_/.test(name))
    .map(titleOf)

/** Those of a direct endpoint that only it has, and the names of all others. */
export function metricsOfDirect(page: string): {
  readonly own: readonly string[]
  readonly others: readonly string[]
} {
  const titles = ownMetrics(page)
  return {
    own: titles.filter(isOfDirect).toSorted(),
    others: titles.filter((title) => !isOfDirect(title)).map(nameOf),
  }
}

/** The name of a metric, without its labels. */
export const nameOf = (title: string): string => title.replace(/\{.*/, '')

/** The readiness checks that the docs list for a program. */
export function listedChecks(program: 'manager' | 'gateway' | 'direct'): readonly string[] {
  const rows =
    program === 'direct'
      ? [...sectionOf(DIRECT, 'Health').matchAll(/^\| (`.*?) \|/gm)]
      : [
          ...sectionOf(pageOf('troubleshooting.md'), 'A pod that is not ready').matchAll(
            /^\| (`.*?) \| (\w+) \|/gm,
          ),
        ].filter(([, , of = '']) => ['both', program].includes(of))
  const names = rows.flatMap(([, cell = '']) => cell.split(', ').map((name) => name.slice(1, -1)))
  return names.toSorted()
}

function sectionOf(page: string, heading: string): string {
  const [, after = ''] = page.split(`\n## ${heading}\n`)
  return after.split('\n## ')[0] ?? ''
}

/** The readiness checks of a process. */
export const checksIn = (page: string): readonly string[] =>
  Array.from(page.matchAll(/^platform_ready\{check="(.+)"\}/gm), ([, name = '']) => name).toSorted()
