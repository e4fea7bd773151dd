// Parses metrics in Prometheus' text format, as far as tests need it.
import type { Operator } from './command-process.ts'

/** A metric of a page. */
export interface Family {
  readonly name: string
  readonly type: string
  /** Names of its labels, without the `le` of a histogram. */
  readonly labels: readonly string[]
}

/** Values by series, such as `up{job="x"}`, as the page writes them. */
export function seriesOf(page: string): ReadonlyMap<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), numberOf(line.slice(at + 1))]
    }),
  )
}

/** The value of a series. @throws Error when there is none */
export function valueOf(page: string, series: string): number {
  const value = seriesOf(page).get(series)
  if (value === undefined) throw new Error(`there is no series ${series}`)
  return value
}

/** The sum of a metric's series whose labels hold all of these. @throws Error when there is none */
export function sumOf(page: string, name: string, ...labels: readonly string[]): number {
  const values = [...seriesOf(page)].flatMap(([series, value]) => {
    const [its, braces = ''] = series.split(/(?=\{)/, 2)
    return its === name && labels.every((label) => braces.includes(label)) ? [value] : []
  })
  if (values.length === 0) throw new Error(`there is no series of ${name} with ${labels.join()}`)
  return values.reduce((sum, value) => sum + value, 0)
}

/** Infinity has another name on the page. */
const numberOf = (text: string): number => Number(text.replace('Inf', 'Infinity'))

/** The metrics of a page. */
export function familiesOf(page: string): readonly Family[] {
  return Array.from(page.matchAll(/^# TYPE (\S+) (\w+)$/gm), ([, name = '', type = '']) => {
    const suffix = type === 'histogram' ? '_bucket' : ''
    const series = new RegExp(`^${name}${suffix}(?:\\{(.*)\\})? `, 'm').exec(page)?.[1] ?? ''
    const labels = Array.from(
      series.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g),
      ([, label = '']) => label,
    )
    return { name, type, labels: labels.filter((label) => label !== 'le') }
  })
}

/** A family as docs/operating.md names it, such as `platform_tokens{state}`. */
export const titleOf = ({ name, labels }: Family): string =>
  labels.length === 0 ? name : `${name}{${labels.toSorted().join(',')}}`

/** `sumOf` the metrics page of a running process. */
export async function metric(
  operator: Operator,
  name: string,
  ...labels: readonly string[]
): Promise<number> {
  return sumOf(await operator.metrics(), name, ...labels)
}

/** The number of reconciles of a controller. */
export const reconciled = (operator: Operator, controller: string): Promise<number> =>
  metric(operator, 'controller_runtime_reconcile_total', `controller="${controller}"`)

/** Whether the queues of these controllers are empty and no worker of them is active, all by one page. */
export async function isIdle(
  operator: Operator,
  ...controllers: readonly string[]
): Promise<boolean> {
  const page = await operator.metrics()
  return controllers.every(
    (controller) =>
      sumOf(page, 'workqueue_depth', `name="${controller}"`) === 0 &&
      sumOf(page, 'controller_runtime_active_workers', `controller="${controller}"`) === 0,
  )
}
