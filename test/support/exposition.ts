// A page of metrics in Prometheus' text format, as far as tests look into it.

/** A metric of a page. */
export interface Family {
  readonly name: string
  readonly type: string
  /** Names of its labels, without the `le` of a histogram. */
  readonly labels: readonly string[]
}

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

/** A family as docs/operating.md names it, such as `workqueue_depth{name}`. */
export const titleOf = ({ name, labels }: Family): string =>
  labels.length === 0 ? name : `${name}{${labels.toSorted().join(',')}}`
