// The metrics of the gateway (contract 8.4, 15).
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import { ACCESS_KEYS, CONFIG_MAPS, CONFIGS, EVENTS, SECRETS, TOKENS } from '../../api/names.ts'
import { HEARTBEAT_REASON } from '../../authn/watch-heartbeat.ts'
import { TARGET_KINDS } from '../../domain/scope/request-info.ts'
import { ACTIVITY_WRITE_REASONS } from '../../gateway/activity/write.ts'
import { AUTHENTICATION_REFUSALS } from '../../gateway/stages/authentication.ts'
import { STREAM_KINDS, TERMINATION_REASONS } from '../../gateway/streams/in-flight.ts'
import { ADMISSION_KINDS } from '../../gateway/streams/max-in-flight.ts'
import { EVENT_WRITE_REASONS } from '../../kube/event-recorder.ts'
import { RESTART_REASONS } from '../../kube/informer/reflector-state.ts'
import {
  type Instruments,
  instruments,
  processRegistry,
  type Scrape,
} from '../../runtime/metrics.ts'
import { CERTIFICATE_WRITE_REASONS } from '../../serving/tls/serving-certificate.ts'
import {
  type AgentMetrics,
  type AuditMetrics,
  agentMetrics,
  auditMetrics,
} from '../shared/audit-metrics.ts'
import { AUTHORITY_WRITE_REASONS } from '../shared/authority.ts'
import { type ClientLabels, type ClientMetrics, clientMetrics } from '../shared/client-metrics.ts'
import type { CommandProcess } from '../shared/process.ts'
import {
  type RequestLabels,
  type RequestMetrics,
  requestMetrics,
} from '../shared/request-metrics.ts'
import { type DataStoreMetrics, dataStoreMetrics } from './data-store.ts'
import type { GatewaySettings } from './flags.ts'

/**
 * Data whose age is a metric: `keys` is all that decides about requests with a key (keys, settings, roles); `published`
 * is all that is served without a key.
 */
const WATCHED_DATA = ['keys', 'published'] as const

/** Functions that read the age of the data, in milliseconds; Infinity = never known to be complete. */
type WatchAges = Readonly<Record<(typeof WATCHED_DATA)[number], () => number>>

/** The metrics of the gateway, with a method for each event that they count. */
interface GatewayMetrics
  extends AuditMetrics,
    AgentMetrics,
    DataStoreMetrics,
    ClientMetrics,
    RequestMetrics {
  readonly activityWritten: () => void
  readonly activityFailed: () => void
  /** The watch delivered a heartbeat of this gateway. @param seconds since it was sent */
  readonly changeArrived: (seconds: number) => void
  /** Sets the functions that each scrape reads the ages from. */
  readonly followWatchAges: (ages: WatchAges) => void
  readonly scrape: Scrape
}

/** Creates the metrics, all at zero, in a registry of their own. */
export function createGatewayMetrics(labels: ClientLabels & RequestLabels): GatewayMetrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry, METRIC_HELP)
  let ages: Readonly<Record<string, () => number>> = {}
  make.gauge(
    'platform_gateway_watch_age_seconds',
    WATCHED_DATA.map((of) => ({ of })),
    ({ of }) => (ages[of]?.() ?? 0) / 1000,
  )
  return {
    ...clientMetrics(make, labels),
    ...requestMetrics(registry, make, labels),
    ...keyMetrics(make),
    ...auditMetrics(make),
    ...agentMetrics(registry),
    ...dataStoreMetrics(make),
    followWatchAges: (read) => {
      ages = read
    },
    scrape,
  }
}

const REVOCATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

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

/** Shared by all parts of a gateway process. */
export type GatewayProcess = CommandProcess<GatewaySettings, GatewayMetrics>

/** Creates the gateway's metrics with the values of their labels. */
export const createMetrics = (): GatewayMetrics =>
  createGatewayMetrics({
    writes: {
      [SECRETS.kind]: CERTIFICATE_WRITE_REASONS,
      [CONFIG_MAPS.kind]: AUTHORITY_WRITE_REASONS,
      [EVENTS.kind]: EVENT_WRITE_REASONS,
      [ACCESS_KEYS.kind]: [HEARTBEAT_REASON, ...ACTIVITY_WRITE_REASONS],
    },
    watches: [ACCESS_KEYS, TOKENS, CONFIGS, CONFIG_MAPS, SECRETS].map(({ plural }) => plural),
    watchRestartReasons: RESTART_REASONS,
    targets: TARGET_KINDS,
    hasWebhook: false,
    hasSignIn: true,
    refusals: AUTHENTICATION_REFUSALS,
    limits: [...ADMISSION_KINDS, 'buffer', 'signIn'],
    streamKinds: STREAM_KINDS,
    cutReasons: TERMINATION_REASONS,
  })
