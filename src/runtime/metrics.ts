// Every metric of the program (contract 8.4): controller-runtime's names, help texts and buckets
// where the meaning is the same. Each series is there from the start.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The closed sets of label values. */
export interface MetricLabels {
  /** Controllers, each with its queue, and how many reconciles each runs at a time. */
  readonly controllers: Readonly<Record<string, number>>
  /** Name of the Lease of leader election. */
  readonly lease: string
  /** Kinds that are written, each with the reasons of the writes. */
  readonly writes: Readonly<Record<string, readonly string[]>>
  /** Resources that are watched, as plurals. */
  readonly watches: readonly string[]
  readonly watchRestartReasons: readonly string[]
  readonly keyStates: readonly string[]
  /** Whether there is a series for each key (`--per-object-metrics`). */
  readonly perObject: boolean
  /** Kinds whose lifetime may be capped. */
  readonly cappedKinds: readonly string[]
}

/** How a reconcile ended, in controller-runtime's words. */
export type ReconcileResult = (typeof RESULTS)[number]

/** What is read at each scrape rather than kept here twice. Called often: must be cheap. */
export interface MetricSources {
  /** How many keys are in each state; a state that is missing counts none. */
  readonly keysByState: () => Readonly<Record<string, number>>
  /** How many objects of each kind have condition LifetimeCapped. */
  readonly cappedByKind: () => Readonly<Record<string, number>>
  /** Names of the keys that end, and when, in epoch milliseconds. Asked for with perObject only. */
  readonly keyEnds: () => Iterable<readonly [string, number]>
}

/** A queue as far as its gauges go. */
export interface QueueGauges {
  readonly depth: number
  readonly longestWorkSeconds: number
}

/** What one controller and its queue report. Durations are in seconds. */
export interface ControllerMetrics {
  readonly queue: {
    readonly added: () => void
    readonly retried: () => void
    readonly waited: (seconds: number) => void
    readonly worked: (seconds: number) => void
  }
  readonly loop: {
    readonly started: () => void
    readonly finished: (result: ReconcileResult, seconds: number) => void
  }
  /** Takes depth and longest work from the queue from now on. */
  readonly follow: (queue: QueueGauges) => void
}

/** The program's metrics; one method for each thing that happens. */
export interface Metrics {
  /** The part of one of `labels.controllers`. */
  readonly controller: (name: string) => ControllerMetrics
  /** @param code HTTP status, or `<error>` where there was no answer, as in client-go */
  readonly responded: (method: string, code: string) => void
  readonly wrote: (kind: string, reason: string) => void
  readonly watchRestarted: (resource: string, reason: string) => void
  readonly leads: (isLeader: boolean) => void
  /** A key's status says that it expired, so many seconds after it did. */
  readonly keyExpired: (lagSeconds: number) => void
  readonly configChecked: (isValid: boolean) => void
  /** @param atMs epoch milliseconds */
  readonly configApplied: (atMs: number) => void
  /** Local time minus the API server's. */
  readonly clockSkewed: (seconds: number) => void
  /** Takes the gauges of state from there from now on. */
  readonly follow: (sources: MetricSources) => void
  /** The text of a scrape. */
  readonly scrape: () => Promise<{ readonly contentType: string; readonly body: string }>
}

const RESULTS = ['success', 'requeue', 'requeue_after', 'error'] as const

/** What this program asks of the API server, and what that answers in ordinary and bad times. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const CODES = [
  '200',
  '201',
  '401',
  '403',
  '404',
  '409',
  '422',
  '429',
  '500',
  '503',
  '504',
  '<error>',
]

const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10, 100, 1000]
// One second is promised (contract 2.7); what took minutes fell into a time when nothing ran.
const LAG_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]

const HELP = {
  controller_runtime_reconcile_total: 'Total number of reconciliations per controller',
  controller_runtime_reconcile_errors_total: 'Total number of reconciliation errors per controller',
  controller_runtime_reconcile_time_seconds: 'Length of time per reconciliation per controller',
  controller_runtime_active_workers: 'Number of currently used workers per controller',
  controller_runtime_max_concurrent_reconciles:
    'Maximum number of concurrent reconciles per controller',
  workqueue_depth: 'Current depth of workqueue',
  workqueue_adds_total: 'Total number of adds handled by workqueue',
  workqueue_retries_total: 'Total number of retries handled by workqueue',
  workqueue_queue_duration_seconds:
    'How long in seconds an item stays in workqueue before being requested',
  workqueue_work_duration_seconds: 'How long in seconds processing an item from workqueue takes.',
  workqueue_longest_running_processor_seconds:
    'How many seconds has the longest running processor for workqueue been running.',
  rest_client_requests_total: 'Number of HTTP requests, partitioned by status code and method.',
  leader_election_master_status:
    'Whether this process holds the Lease in name: 1 = it leads, 0 = it stands by.',
  platform_access_keys: 'Number of access keys by state.',
  platform_access_key_expirations_total: 'Number of access keys whose expiry was published.',
  platform_expiration_lag_seconds: 'How long after the expiry of an access key its status says so.',
  platform_lifetimes_capped: 'Number of objects whose lifetime is shortened by the cap, by kind.',
  platform_config_valid:
    '0 while Config has a fault and the last good settings stay in force, else 1.',
  platform_config_last_applied_timestamp_seconds:
    'When this process last put settings in force, in seconds since 1970; 0 = not yet.',
  platform_api_writes_total: 'Number of successful writes to the API server by kind and reason.',
  platform_watch_restarts_total: 'Number of times a watch had to be opened anew.',
  platform_clock_skew_seconds: "Local time minus the API server's, at its last answer.",
} as const

/** Gauges of prom-client that end in `_total`, which promtool rightly refuses. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** The metrics, all at zero, in a registry of their own. */
export function createMetrics(labels: MetricLabels): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const make = instruments(registry)
  const queues = queueMetrics(make, Object.keys(labels.controllers))
  const loops = loopMetrics(make, labels.controllers)
  return {
    controller: (name) => ({ ...queues(name), loop: loops(name) }),
    ...clientMetrics(make, labels),
    ...keyMetrics(make, labels, registry),
    ...configMetrics(make),
    scrape: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}

function queueMetrics(
  { counter, gauge, histogram }: Instruments,
  names: readonly string[],
): (name: string) => Omit<ControllerMetrics, 'loop'> {
  const each = names.map((name) => ({ name }))
  const followed = new Map<string, QueueGauges>()
  gauge('workqueue_depth', each, ({ name }) => followed.get(name)?.depth)
  gauge(
    'workqueue_longest_running_processor_seconds',
    each,
    ({ name }) => followed.get(name)?.longestWorkSeconds,
  )
  const adds = counter('workqueue_adds_total', each)
  const retries = counter('workqueue_retries_total', each)
  const waits = histogram('workqueue_queue_duration_seconds', QUEUE_BUCKETS, each)
  const works = histogram('workqueue_work_duration_seconds', QUEUE_BUCKETS, each)
  return (name) => ({
    queue: {
      added: () => adds.inc({ name }),
      retried: () => retries.inc({ name }),
      waited: (seconds) => waits.observe({ name }, seconds),
      worked: (seconds) => works.observe({ name }, seconds),
    },
    follow: (queue) => void followed.set(name, queue),
  })
}

function loopMetrics(
  { counter, gauge, histogram }: Instruments,
  workers: Readonly<Record<string, number>>,
): (controller: string) => ControllerMetrics['loop'] {
  const each = Object.keys(workers).map((controller) => ({ controller }))
  const withResult = each.flatMap((labels) => RESULTS.map((result) => ({ ...labels, result })))
  const total = counter('controller_runtime_reconcile_total', withResult)
  const errors = counter('controller_runtime_reconcile_errors_total', each)
  const times = histogram('controller_runtime_reconcile_time_seconds', RECONCILE_BUCKETS, each)
  const active = gauge('controller_runtime_active_workers', each)
  gauge(
    'controller_runtime_max_concurrent_reconciles',
    each,
    (labels) => workers[labels.controller],
  )
  return (controller) => ({
    started: () => active.inc({ controller }),
    finished: (result, seconds) => {
      active.dec({ controller })
      total.inc({ controller, result })
      if (result === 'error') errors.inc({ controller })
      times.observe({ controller }, seconds)
    },
  })
}

function clientMetrics(
  { counter, gauge }: Instruments,
  { writes, watches, watchRestartReasons, lease: name }: MetricLabels,
): Pick<Metrics, 'responded' | 'wrote' | 'watchRestarted' | 'leads' | 'clockSkewed'> {
  const calls = METHODS.flatMap((method) => CODES.map((code) => ({ code, method })))
  const written = Object.entries(writes).flatMap(([kind, reasons]) =>
    reasons.map((reason) => ({ kind, reason })),
  )
  const watched = watches.flatMap((resource) =>
    watchRestartReasons.map((reason) => ({ resource, reason })),
  )
  const requests = counter('rest_client_requests_total', calls)
  const apiWrites = counter('platform_api_writes_total', written)
  const restarts = counter('platform_watch_restarts_total', watched)
  const leader = gauge('leader_election_master_status', [{ name }])
  const skew = gauge('platform_clock_skew_seconds', [{}])
  return {
    responded: (method, code) => requests.inc({ code, method }),
    wrote: (kind, reason) => apiWrites.inc({ kind, reason }),
    watchRestarted: (resource, reason) => restarts.inc({ resource, reason }),
    leads: (isLeader) => leader.set({ name }, isLeader ? 1 : 0),
    clockSkewed: (seconds) => skew.set(seconds),
  }
}

function keyMetrics(
  { counter, gauge, histogram }: Instruments,
  { keyStates, cappedKinds, perObject }: MetricLabels,
  registry: Registry,
): Pick<Metrics, 'follow' | 'keyExpired'> {
  let sources: MetricSources = {
    keysByState: () => ({}),
    cappedByKind: () => ({}),
    keyEnds: () => [],
  }
  const states = keyStates.map((state) => ({ state }))
  const kinds = cappedKinds.map((kind) => ({ kind }))
  gauge('platform_access_keys', states, ({ state }) => sources.keysByState()[state])
  gauge('platform_lifetimes_capped', kinds, ({ kind }) => sources.cappedByKind()[kind])
  if (perObject) keyEndGauge(registry, () => sources.keyEnds())
  const expirations = counter('platform_access_key_expirations_total', [{}])
  const lag = histogram('platform_expiration_lag_seconds', LAG_BUCKETS, [{}])
  return {
    follow: (from) => {
      sources = from
    },
    keyExpired: (lagSeconds) => {
      expirations.inc()
      lag.observe(lagSeconds)
    },
  }
}

/** The one metric whose label values come and go: each scrape starts from none. */
function keyEndGauge(registry: Registry, keyEnds: MetricSources['keyEnds']): void {
  const metric = new Gauge({
    name: 'platform_access_key_expiration_timestamp_seconds',
    help: 'When each access key ends, in seconds since 1970; those that never end are left out.',
    labelNames: ['name'],
    registers: [],
    collect() {
      this.reset()
      for (const [name, endMs] of keyEnds()) this.set({ name }, endMs / 1000)
    },
  })
  registry.registerMetric(metric)
}

function configMetrics({ gauge }: Instruments): Pick<Metrics, 'configChecked' | 'configApplied'> {
  const valid = gauge('platform_config_valid', [{}])
  const applied = gauge('platform_config_last_applied_timestamp_seconds', [{}])
  // No fault is known before the first look, and a replica that stands by never looks.
  valid.set(1)
  return {
    configChecked: (isValid) => valid.set(isValid ? 1 : 0),
    configApplied: (atMs) => applied.set(atMs / 1000),
  }
}

type Name = keyof typeof HELP

/** Label values of each series of a metric; `[{}]` is the one series without labels. */
type Each<Label extends string> = readonly Readonly<Record<Label, string>>[]

interface Instruments {
  readonly counter: <Label extends string>(name: Name, each: Each<Label>) => Counter<Label>
  readonly histogram: <Label extends string>(
    name: Name,
    buckets: number[],
    each: Each<Label>,
  ) => Histogram<Label>
  /** With `read` it is read at each scrape, 0 where nothing is known; without, it is set. */
  readonly gauge: <Label extends string>(
    name: Name,
    each: Each<Label>,
    read?: (labels: Readonly<Record<Label, string>>) => number | undefined,
  ) => Gauge<Label>
}

function instruments(registry: Registry): Instruments {
  const base = <Label extends string>(name: Name, each: Each<Label>) => ({
    name,
    help: HELP[name],
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
