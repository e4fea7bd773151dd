// Every metric of the program (contract 8.4): controller-runtime's names, help texts and buckets
// where the meaning is the same. Each series is there from the start.
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import {
  ACCESS_KEYS,
  CONFIGS,
  CONFIG_MAPS,
  CONTROLLER_NAME,
  EVENTS,
  LEASES,
  SECRETS,
  TOKENS,
} from '../../api/names.ts'
import { REVOCATION_WRITE_REASONS } from '../../authn/revocation/revocation-list.ts'
import { CONFIG_WRITE_REASONS, RECORD_WRITE_REASONS } from '../../controllers/config/reconcile.ts'
import {
  TOKEN_STATE_LABELS,
  type TokenMetrics,
  type TokenSources,
  tokenMetrics,
} from '../../controllers/directclusterendpointtoken/metrics.ts'
import { TOKEN_WRITE_REASONS } from '../../controllers/directclusterendpointtoken/reconcile.ts'
import { KEY_STATE_LABELS } from '../../controllers/ownedaccesskey/metrics.ts'
import { KEY_WRITE_REASONS } from '../../controllers/ownedaccesskey/reconcile.ts'
import {
  JWKS_WRITE_REASONS,
  SIGNING_SECRET_WRITE_REASONS,
} from '../../controllers/signingkey/reconcile.ts'
import { NOTHING_OVERDUE, type Overdue } from '../../domain/time.ts'
import { RECONCILE_RESULTS, type ReconcileResult } from '../../kube/controller/controller.ts'
import { EVENT_WRITE_REASONS } from '../../kube/event-recorder.ts'
import { RESTART_REASONS } from '../../kube/informer/reflector-state.ts'
import { LEASE_WRITE_REASONS } from '../../kube/leader-election/lock.ts'
import {
  type Instruments,
  type Scrape,
  instruments,
  processRegistry,
} from '../../runtime/metrics.ts'
import { type ClientLabels, type ClientMetrics, clientMetrics } from '../client-metrics.ts'
import { CONTROLLERS } from './controllers.ts'
import type { ManagerSettings } from './flags.ts'
import { WATCHED } from './informers.ts'

/** The closed sets of label values. */
export interface MetricLabels extends ClientLabels {
  /** Controllers, each with its queue, and how many reconciles each runs at a time. */
  readonly controllers: Readonly<Record<string, number>>
  /** Name of the Lease of leader election. */
  readonly lease: string
  readonly keyStates: readonly string[]
  readonly tokenStates: readonly string[]
  /** Whether there is a series for each key (`--per-object-metrics`). */
  readonly perObject: boolean
  /** Kinds whose objects have a lifetime. */
  readonly endingKinds: readonly string[]
}

/** Sources that are read at each scrape. All but refresh and keyEnds are called often: must be cheap. */
export interface MetricSources extends TokenSources {
  /** Counts the objects again. Each scrape waits for it. */
  readonly refresh: () => Promise<void>
  /** How many keys are in each state; a state that is missing counts none. */
  readonly keysByState: () => Readonly<Record<string, number>>
  /** How many objects of each kind have condition LifetimeCapped. */
  readonly cappedByKind: () => Readonly<Record<string, number>>
  /** Objects of each kind past their end whose status does not say so yet. */
  readonly overdueByKind: () => Readonly<Record<string, Overdue>>
  /** Calls back with the name and expiry, in epoch milliseconds, of each key that expires; only with perObject. */
  readonly keyEnds: (tell: (name: string, atMs: number) => void) => Promise<void>
}

/** A queue as far as its gauges go. */
export interface QueueGauges {
  readonly depth: number
  readonly longestWorkSeconds: number
  readonly unfinishedWorkSeconds: number
  readonly longestWaitSeconds: number
}

/** Metrics of one controller and its queue. Durations are in seconds. */
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
  /** Takes the gauges of the queue from there from now on. */
  readonly follow: (queue: QueueGauges) => void
}

/** The program's metrics; one method for each thing that happens. */
export interface Metrics extends ClientMetrics, TokenMetrics {
  /** The part of one of `labels.controllers`. */
  readonly controller: (name: string) => ControllerMetrics
  readonly leads: (isLeader: boolean) => void
  /** A key's status says Expired, `lagSeconds` after its expiry. */
  readonly keyExpired: (lagSeconds: number) => void
  readonly configChecked: (isValid: boolean) => void
  /** @param atMs epoch milliseconds */
  readonly configApplied: (atMs: number) => void
  /** Reads the gauges of state from these sources from now on. */
  readonly follow: (sources: MetricSources) => void
  readonly scrape: Scrape
}

const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10, 100, 1000]
// Contract 2.7 promises one second; minutes mean that no manager was running.
const LAG_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]

/** The metrics, all at zero, in a registry of their own. */
export function createMetrics(labels: MetricLabels): Metrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry, METRIC_HELP)
  const queues = queueMetrics(make, Object.keys(labels.controllers))
  const loops = loopMetrics(make, labels.controllers)
  let sources = NO_SOURCES
  return {
    controller: (name) => ({ ...queues(name), loop: loops(name) }),
    ...clientMetrics(make, labels),
    ...leaderMetrics(make, labels),
    ...keyMetrics(make, labels, () => sources),
    ...tokenMetrics(make, labels.tokenStates, registry, () => sources),
    ...configMetrics(make),
    follow: (from) => {
      sources = from
    },
    scrape: async () => {
      await sources.refresh()
      const { contentType, body } = await scrape()
      return { contentType, body: labels.perObject ? body + (await keyEnds(sources)) : body }
    },
  }
}

/** The sources of a standby replica: only the leader counts. */
const NO_SOURCES: MetricSources = {
  refresh: () => Promise.resolve(),
  keysByState: () => ({}),
  tokensByState: () => ({}),
  cappedByKind: () => ({}),
  overdueByKind: () => ({}),
  keyEnds: () => Promise.resolve(),
  signingKeys: () => [],
  signingKeyFaults: () => 0,
  revokedTokens: () => 0,
  revocationBacklog: () => NOTHING_OVERDUE,
}

/** Both labels of a queue, as controller-runtime has them since 0.19: dashboards ask for either. */
const labelsOf = (name: string) => ({ name, controller: name })

function queueMetrics(
  { counter, gauge, histogram }: Instruments<MetricName>,
  names: readonly string[],
): (name: string) => Omit<ControllerMetrics, 'loop'> {
  const each = names.map(labelsOf)
  const followed = new Map<string, QueueGauges>()
  gauge('workqueue_depth', each, ({ name }) => followed.get(name)?.depth)
  gauge(
    'workqueue_longest_running_processor_seconds',
    each,
    ({ name }) => followed.get(name)?.longestWorkSeconds,
  )
  gauge(
    'workqueue_unfinished_work_seconds',
    each,
    ({ name }) => followed.get(name)?.unfinishedWorkSeconds,
  )
  gauge('platform_queue_age_seconds', each, ({ name }) => followed.get(name)?.longestWaitSeconds)
  const adds = counter('workqueue_adds_total', each)
  const retries = counter('workqueue_retries_total', each)
  const waits = histogram('workqueue_queue_duration_seconds', QUEUE_BUCKETS, each)
  const works = histogram('workqueue_work_duration_seconds', QUEUE_BUCKETS, each)
  return (name) => ({
    queue: {
      added: () => adds.inc(labelsOf(name)),
      retried: () => retries.inc(labelsOf(name)),
      waited: (seconds) => waits.observe(labelsOf(name), seconds),
      worked: (seconds) => works.observe(labelsOf(name), seconds),
    },
    follow: (queue) => void followed.set(name, queue),
  })
}

function loopMetrics(
  { counter, gauge, histogram }: Instruments<MetricName>,
  workers: Readonly<Record<string, number>>,
): (controller: string) => ControllerMetrics['loop'] {
  const each = Object.keys(workers).map((controller) => ({ controller }))
  const withResult = each.flatMap((labels) =>
    RECONCILE_RESULTS.map((result) => ({ ...labels, result })),
  )
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

function leaderMetrics(
  { gauge }: Instruments<MetricName>,
  { lease: name }: MetricLabels,
): Pick<Metrics, 'leads'> {
  const leader = gauge('leader_election_master_status', [{ name }])
  return { leads: (isLeader) => leader.set({ name }, isLeader ? 1 : 0) }
}

function keyMetrics(
  { counter, gauge, histogram }: Instruments<MetricName>,
  { keyStates, endingKinds }: MetricLabels,
  sources: () => MetricSources,
): Pick<Metrics, 'keyExpired'> {
  const states = keyStates.map((state) => ({ state }))
  const kinds = endingKinds.map((kind) => ({ kind }))
  gauge('platform_access_keys', states, ({ state }) => sources().keysByState()[state])
  gauge('platform_lifetimes_capped', kinds, ({ kind }) => sources().cappedByKind()[kind])
  const overdue = (kind: string): Overdue => sources().overdueByKind()[kind] ?? NOTHING_OVERDUE
  gauge('platform_expirations_overdue', kinds, ({ kind }) => overdue(kind).count)
  gauge('platform_expirations_overdue_seconds', kinds, ({ kind }) => overdue(kind).longestMs / 1000)
  const expirations = counter('platform_access_key_expirations_total', [{}])
  const lag = histogram('platform_expiration_lag_seconds', LAG_BUCKETS, [{}])
  return {
    keyExpired: (lagSeconds) => {
      expirations.inc()
      lag.observe(lagSeconds)
    },
  }
}

/** The text of the series of each key: prom-client would write 100,000 in one turn of the event loop. */
async function keyEnds(sources: MetricSources): Promise<string> {
  const { name, help, label } = KEY_ENDS
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`]
  // A name in JSON is a label value.
  await sources.keyEnds((key, atMs) =>
    lines.push(`${name}{${label}=${JSON.stringify(key)}} ${atMs / 1000}`),
  )
  return `${lines.join('\n')}\n`
}

const KEY_ENDS = {
  name: 'platform_access_key_expiration_timestamp_seconds',
  help: 'When each access key ends, in seconds since 1970; those that never end are left out.',
  label: 'name',
}

function configMetrics({
  gauge,
}: Instruments<MetricName>): Pick<Metrics, 'configChecked' | 'configApplied'> {
  const valid = gauge('platform_config_valid', [{}])
  const applied = gauge('platform_config_last_applied_timestamp_seconds', [{}])
  // Before the first check no fault is known, and a standby replica never checks.
  valid.set(1)
  return {
    configChecked: (isValid) => valid.set(isValid ? 1 : 0),
    configApplied: (atMs) => applied.set(atMs / 1000),
  }
}

/** The manager's metrics, with their closed label sets. */
export function createManagerMetrics({ workers, perObjectMetrics }: ManagerSettings): Metrics {
  return createMetrics({
    controllers: {
      [CONTROLLERS.keys]: workers,
      [CONTROLLERS.tokens]: workers,
      [CONTROLLERS.configs]: 1,
      [CONTROLLERS.signingKeys]: 1,
    },
    lease: CONTROLLER_NAME,
    writes: {
      [ACCESS_KEYS.kind]: KEY_WRITE_REASONS,
      [CONFIGS.kind]: CONFIG_WRITE_REASONS,
      [TOKENS.kind]: TOKEN_WRITE_REASONS,
      [CONFIG_MAPS.kind]: [
        ...RECORD_WRITE_REASONS,
        ...REVOCATION_WRITE_REASONS,
        ...JWKS_WRITE_REASONS,
      ],
      [SECRETS.kind]: SIGNING_SECRET_WRITE_REASONS,
      [EVENTS.kind]: EVENT_WRITE_REASONS,
      [LEASES.kind]: LEASE_WRITE_REASONS,
    },
    tokenStates: TOKEN_STATE_LABELS,
    watches: WATCHED.map(({ plural }) => plural),
    watchRestartReasons: RESTART_REASONS,
    keyStates: Object.values(KEY_STATE_LABELS),
    perObject: perObjectMetrics,
    endingKinds: [ACCESS_KEYS.kind, TOKENS.kind],
  })
}
