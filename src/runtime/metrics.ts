// Creates metrics, all with every series from the start (contract 8.4).
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type { Registry }

/** The labels of each series of a metric; `[{}]` = one series without labels. */
type SeriesLabels<Label extends string> = readonly Readonly<Record<Label, string>>[]

/** Creates metrics in one registry, with every series from the start. */
export interface Instruments<Name extends string> {
  readonly counter: <Label extends string>(name: Name, each: SeriesLabels<Label>) => Counter<Label>
  readonly histogram: <Label extends string>(
    name: Name,
    buckets: number[],
    each: SeriesLabels<Label>,
  ) => Histogram<Label>
  /** With `read` its values are read at each scrape, undefined as 0; without `read` the caller sets them. */
  readonly gauge: <Label extends string>(
    name: Name,
    each: SeriesLabels<Label>,
    read?: (labels: Readonly<Record<Label, string>>) => number | undefined,
  ) => Gauge<Label>
}

/** The instruments of a registry. @param help the help text of each metric by its name */
export function instruments<Name extends string>(
  registry: Registry,
  help: Readonly<Record<Name, string>>,
): Instruments<Name> {
  const base = <Label extends string>(name: Name, each: SeriesLabels<Label>) => ({
    name,
    help: help[name],
    labelNames: Object.keys(each[0] ?? {}) as Label[],
    registers: [registry],
  })
  return {
    counter: (name, each) => {
      const metric = new Counter(base(name, each))
      for (const labels of each) metric.inc(labels, 0)
      return metric
    },
    histogram: (name, buckets, each) => {
      const metric = new Histogram({ ...base(name, each), buckets })
      for (const labels of each) metric.zero(labels)
      return metric
    },
    gauge: (name, each, read) => {
      const collect = (): void => {
        for (const labels of each) metric.set(labels, read?.(labels) ?? 0)
      }
      const metric = new Gauge({ ...base(name, each), ...(read && { collect }) })
      collect()
      return metric
    },
  }
}

/** What scrapes read of a part that starts after the metrics. */
interface ScrapeSource<Value> {
  readonly read: () => Value
  /** Sets what `read` calls from now on. */
  readonly follow: (read: () => Value) => void
}

/** Creates a source. @param initial what `read` calls until the part has started */
export function scrapeSource<Value>(initial: () => Value): ScrapeSource<Value> {
  let current = initial
  return {
    read: () => current(),
    follow: (read) => {
      current = read
    },
  }
}

/** A gauge whose label values come and go. */
interface ChangingGauge<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labels: readonly Label[]
}

/** Adds a gauge whose label values come and go: each scrape has exactly the series that `read` returns. */
export function changingGauge<Label extends string>(
  registry: Registry,
  { name, help, labels }: ChangingGauge<Label>,
  read: () => Iterable<readonly [series: Readonly<Record<Label, string>>, number]>,
): void {
  const metric = new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [],
    collect() {
      this.reset()
      for (const [series, number] of read()) this.set(series, number)
    },
  })
  registry.registerMetric(metric)
}

/** The text of a scrape. */
export type Scrape = () => Promise<{ readonly contentType: string; readonly body: string }>

/** Gauges of prom-client whose names end in `_total`, which promtool refuses. */
const MISNAMED_GAUGES = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** A registry with the metrics of the process and of Node, and the function that scrapes it. */
export function processRegistry(): { readonly registry: Registry; readonly scrape: Scrape } {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED_GAUGES) registry.removeSingleMetric(name)
  return {
    registry,
    scrape: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}
