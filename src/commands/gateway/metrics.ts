// The metrics of the gateway (contract 8.4, 15).
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import { ACCESS_KEYS, CONFIGS, CONFIG_MAPS, EVENTS, SECRETS, TOKENS } from '../../api/names.ts'
import { HEARTBEAT_REASON } from '../../authn/watch-heartbeat.ts'
import { ACTIVITY_WRITE_REASONS } from '../../gateway/activity/write.ts'
import { AUTHENTICATION_REFUSALS } from '../../gateway/stages/authentication.ts'
import { ADMISSION_KINDS } from '../../gateway/stages/max-in-flight.ts'
import { STREAM_KINDS, TERMINATION_REASONS } from '../../gateway/streams/in-flight.ts'
import { EVENT_WRITE_REASONS } from '../../kube/event-recorder.ts'
import { RESTART_REASONS } from '../../kube/informer/reflector-state.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import {
  type Instruments,
  type Scrape,
  changingGauge,
  instruments,
  processRegistry,
} from '../../runtime/metrics.ts'
import { CERTIFICATE_WRITE_REASONS } from '../../serving/tls/serving-certificate.ts'
import { type ClientLabels, type ClientMetrics, clientMetrics } from '../client-metrics.ts'
import type { GatewaySettings } from './flags.ts'

/** The values of the gateway's labels, which are closed sets. */
interface GatewayLabels extends ClientLabels {
  /** APIs that requests lead to. */
  readonly targets: readonly string[]
  /** Why credentials are refused. */
  readonly refusals: readonly string[]
  /** Kinds of limits at which the gateway answers 429. */
  readonly limits: readonly string[]
  readonly streamKinds: readonly string[]
  readonly cutReasons: readonly string[]
}

/**
 * Data whose age is a metric: `keys` is all that decides about requests with a key (keys, settings, roles); `published`
 * is all that is served without a key.
 */
const WATCHED_DATA = ['keys', 'published'] as const

const TARGET_LABELS = ['kind', 'project', 'name'] as const

/** Functions that read the age of the data, in milliseconds; Infinity = never known to be complete. */
type WatchAges = Readonly<Record<(typeof WATCHED_DATA)[number], () => number>>

/** A target, and whether it works. */
type TargetReadiness = readonly [Readonly<Record<(typeof TARGET_LABELS)[number], string>>, boolean]

/** The metrics of the gateway, with a method for each event that they count. */
export interface GatewayMetrics extends ClientMetrics {
  /**
   * A request was answered.
   *
   * @param target `Public` for the routes without a credential, an API, or `Other` for no API
   * @param verb the API server's verb, or the HTTP method
   * @param seconds until the head of the response was known
   */
  readonly answered: (target: string, verb: string, code: number, seconds: number) => void
  /** A credential was presented. @param refusal why it was refused; null = it was valid */
  readonly authenticated: (refusal: string | null) => void
  readonly scopeDenied: (target: string) => void
  /** A request was refused by a limit of the gateway. */
  readonly limited: (kind: string) => void
  /** A connection was refused. */
  readonly connectionDropped: () => void
  readonly streamOpened: (kind: string) => void
  readonly streamClosed: (kind: string) => void
  readonly streamCut: (reason: string) => void
  readonly activityWritten: () => void
  readonly activityFailed: () => void
  /** The watch delivered a heartbeat of this gateway. @param seconds since it was sent */
  readonly changeArrived: (seconds: number) => void
  /** A certificate is in use; its validity in epoch milliseconds. */
  readonly certificateShown: (notBeforeMs: number, notAfterMs: number) => void
  /** Sets the functions that each scrape reads the ages from. */
  readonly followWatchAges: (ages: WatchAges) => void
  /** Sets the function that each scrape reads the targets from, and whether each works. */
  readonly followTargets: (read: () => Iterable<TargetReadiness>) => void
  readonly scrape: Scrape
}

/** Clients choose the method, so a method that is not in the list counts as `other`. */
const READS = ['get', 'head']
const METHODS = [...READS, 'other']
const CHANGES = ['create', 'update', 'patch', 'delete', 'deletecollection']
const VERBS = [...READS, 'list', 'watch', ...CHANGES, 'other']

const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const REVOCATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

/** Status codes that have a series from the start. */
const CODES = {
  Public: ['200', '304', '500', '503'],
  Other: ['400', '401', '404', '500', '501', '503'],
  api: ['200', '401', '403', '404', '429', '500', '503', '504'],
}

const requestLabels = (targets: readonly string[]) => {
  const labelsOf = (target: string, verbs: readonly string[], codes: readonly string[]) =>
    verbs.flatMap((verb) => codes.map((code) => ({ target, verb, code })))
  return [
    ...labelsOf('Public', READS, CODES.Public),
    ...labelsOf('Public', ['other'], ['405']),
    ...labelsOf('Other', METHODS, CODES.Other),
    ...targets.flatMap((target) => labelsOf(target, VERBS, CODES.api)),
  ]
}

/** Creates the metrics, all at zero, in a registry of their own. */
export function createGatewayMetrics(labels: GatewayLabels): GatewayMetrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry, METRIC_HELP)
  let ages: Readonly<Record<string, () => number>> = {}
  make.gauge(
    'platform_gateway_watch_age_seconds',
    WATCHED_DATA.map((of) => ({ of })),
    ({ of }) => (ages[of]?.() ?? 0) / 1000,
  )
  let targets: () => Iterable<TargetReadiness> = () => []
  const name = 'platform_gateway_target_ready'
  changingGauge(registry, { name, help: METRIC_HELP[name], labels: TARGET_LABELS }, () =>
    [...targets()].map(([series, isReady]) => [series, isReady ? 1 : 0] as const),
  )
  const notBefore = make.gauge('platform_gateway_certificate_not_before_timestamp_seconds', [{}])
  const notAfter = make.gauge('platform_gateway_certificate_not_after_timestamp_seconds', [{}])
  return {
    ...clientMetrics(make, labels),
    ...requestMetrics(make, labels),
    ...streamMetrics(make, labels),
    ...keyMetrics(make),
    certificateShown: (notBeforeMs, notAfterMs) => {
      notBefore.set(notBeforeMs / 1000)
      notAfter.set(notAfterMs / 1000)
    },
    followWatchAges: (read) => {
      ages = read
    },
    followTargets: (read) => {
      targets = read
    },
    scrape,
  }
}

type RequestMetrics = Pick<
  GatewayMetrics,
  'answered' | 'authenticated' | 'scopeDenied' | 'limited' | 'connectionDropped'
>

function requestMetrics(
  make: Instruments<MetricName>,
  { targets, refusals, limits }: GatewayLabels,
): RequestMetrics {
  const requests = make.counter('platform_gateway_requests_total', requestLabels(targets))
  const durations = make.histogram(
    'platform_gateway_request_duration_seconds',
    LATENCY_BUCKETS,
    targets.flatMap((target) => VERBS.map((verb) => ({ target, verb }))),
  )
  const credentials = make.counter('platform_gateway_authentication_total', [
    { result: 'good', reason: '' },
    ...refusals.map((reason) => ({ result: 'refused', reason })),
  ])
  const denials = make.counter(
    'platform_gateway_scope_denials_total',
    targets.map((target) => ({ target })),
  )
  const limited = make.counter(
    'platform_gateway_limited_total',
    limits.map((kind) => ({ kind })),
  )
  const dropped = make.counter('platform_gateway_connections_dropped_total', [{}])
  return {
    answered: (target, method, code, seconds) => {
      const isApi = targets.includes(target)
      const verb = verbLabel(method, isApi ? VERBS : METHODS)
      requests.inc({ target, verb, code: String(code) })
      if (isApi) durations.observe({ target, verb }, seconds)
    },
    authenticated: (refusal) =>
      credentials.inc(
        refusal === null ? { result: 'good', reason: '' } : { result: 'refused', reason: refusal },
      ),
    scopeDenied: (target) => denials.inc({ target }),
    limited: (kind) => limited.inc({ kind }),
    connectionDropped: () => dropped.inc(),
  }
}

type StreamMetrics = Pick<GatewayMetrics, 'streamOpened' | 'streamClosed' | 'streamCut'>

function streamMetrics(
  make: Instruments<MetricName>,
  { streamKinds, cutReasons }: GatewayLabels,
): StreamMetrics {
  const open = make.gauge(
    'platform_gateway_streams',
    streamKinds.map((kind) => ({ kind })),
  )
  const cut = make.counter(
    'platform_gateway_streams_cut_total',
    cutReasons.map((reason) => ({ reason })),
  )
  return {
    streamOpened: (kind) => open.inc({ kind }),
    streamClosed: (kind) => open.dec({ kind }),
    streamCut: (reason) => cut.inc({ reason }),
  }
}

type KeyUseMetrics = Pick<GatewayMetrics, 'activityWritten' | 'activityFailed' | 'changeArrived'>

function keyMetrics(make: Instruments<MetricName>): KeyUseMetrics {
  const writes = make.counter('platform_gateway_activity_writes_total', [{}])
  const failures = make.counter('platform_gateway_activity_failures_total', [{}])
  const arrivals = make.histogram('platform_gateway_revocation_seconds', REVOCATION_BUCKETS, [{}])
  return {
    activityWritten: () => writes.inc(),
    activityFailed: () => failures.inc(),
    changeArrived: (seconds) => arrivals.observe(seconds),
  }
}

function verbLabel(method: string, verbs: readonly string[]): string {
  const verb = method.toLowerCase()
  return verbs.includes(verb) ? verb : 'other'
}

/** What all parts of a gateway process share. */
export interface GatewayProcess {
  readonly settings: GatewaySettings
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: GatewayMetrics
}

/** Creates the gateway's metrics with the values of their labels. */
export const createMetrics = (): GatewayMetrics =>
  createGatewayMetrics({
    writes: {
      [SECRETS.kind]: CERTIFICATE_WRITE_REASONS,
      [EVENTS.kind]: EVENT_WRITE_REASONS,
      [ACCESS_KEYS.kind]: [HEARTBEAT_REASON, ...ACTIVITY_WRITE_REASONS],
    },
    watches: [ACCESS_KEYS, TOKENS, CONFIGS, CONFIG_MAPS].map(({ plural }) => plural),
    watchRestartReasons: RESTART_REASONS,
    targets: ['Management'],
    refusals: AUTHENTICATION_REFUSALS,
    limits: [...ADMISSION_KINDS, 'buffer'],
    streamKinds: STREAM_KINDS,
    cutReasons: TERMINATION_REASONS,
  })
