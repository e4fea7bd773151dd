// The metrics of the direct endpoint (contract 9.2, 15).
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import { EVENTS, SECRETS } from '../../api/names.ts'
import { ISSUER_DOCUMENTS } from '../../authn/token/issuer-client.ts'
import { POLL_RESULTS } from '../../authn/token/issuer-poller.ts'
import type { TokenIssuerGauges, TokenIssuerObserver } from '../../authn/token/setup.ts'
import { TOKEN_REFUSALS } from '../../authn/token/verify-token.ts'
import { TARGET_KINDS } from '../../domain/scope/request-info.ts'
import { CREDENTIAL_FAULTS } from '../../gateway/stages/authentication.ts'
import { STREAM_KINDS, TERMINATION_REASONS } from '../../gateway/streams/in-flight.ts'
import { ADMISSION_KINDS } from '../../gateway/streams/max-in-flight.ts'
import { WEBHOOK_OUTCOMES } from '../../gateway/webhook/handler.ts'
import { EVENT_WRITE_REASONS } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  type Instruments,
  instruments,
  processRegistry,
  type Scrape,
  scrapeSource,
} from '../../runtime/metrics.ts'
import { CERTIFICATE_WRITE_REASONS } from '../../serving/tls/serving-certificate.ts'
import { type AuditMetrics, auditMetrics } from '../shared/audit-metrics.ts'
import { type ClientMetrics, clientMetrics } from '../shared/client-metrics.ts'
import type { CommandProcess } from '../shared/process.ts'
import { type RequestMetrics, requestMetrics } from '../shared/request-metrics.ts'
import type { DirectSettings } from './flags.ts'

/** The metrics of the direct endpoint, with a method for each event that they count. */
interface DirectMetrics extends AuditMetrics, ClientMetrics, RequestMetrics, TokenIssuerObserver {
  /** The webhook answered. */
  readonly reviewed: (outcome: string, seconds: number) => void
  /** Sets the function from which each scrape reads the state of the issuer's keys and revocations. */
  readonly followIssuer: (read: () => TokenIssuerGauges) => void
  /** Sets the function from which each scrape reads the bytes of audit events that are not sent yet. */
  readonly followSpool: (read: () => number) => void
  readonly scrape: Scrape
}

/** Shared by all parts of a direct endpoint. */
export type DirectProcess = CommandProcess<DirectSettings, DirectMetrics>

/** Kinds of targets that a direct endpoint leads to. */
const TARGETS = TARGET_KINDS.filter((kind) => kind !== 'Management')

const REVIEW_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

/** Before the first answer of the issuer: ages count from the start. */
const NO_GAUGES: TokenIssuerGauges = {
  listAgeMs: Number.POSITIVE_INFINITY,
  keysAgeMs: Number.POSITIVE_INFINITY,
  revokedTokens: 0,
  signingKeys: 0,
  clockSkewMs: 0,
}

/** Creates the metrics, all at zero, in a registry of their own. */
export function createDirectMetrics(
  { maxStalenessMs }: Pick<DirectSettings, 'maxStalenessMs'>,
  clock: Clock,
): DirectMetrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry, METRIC_HELP)
  make.gauge('platform_direct_max_staleness_seconds', [{}], () => maxStalenessMs / 1000)
  return {
    ...clientMetrics(make, {
      writes: { [SECRETS.kind]: CERTIFICATE_WRITE_REASONS, [EVENTS.kind]: EVENT_WRITE_REASONS },
      watches: [],
      watchRestartReasons: [],
    }),
    ...requestMetrics(registry, make, {
      targets: TARGETS,
      hasWebhook: true,
      hasSignIn: false,
      refusals: [...TOKEN_REFUSALS, ...CREDENTIAL_FAULTS],
      limits: ADMISSION_KINDS,
      streamKinds: STREAM_KINDS,
      cutReasons: TERMINATION_REASONS,
    }),
    ...issuerMetrics(make),
    ...auditMetrics(make),
    followIssuer: issuerGauges(make, clock),
    followSpool: spoolGauge(make),
    reviewed: reviewMetrics(make),
    scrape,
  }
}

/** Registers the gauges of keys and revocations. @returns the function that sets their source */
function issuerGauges(
  { gauge }: Instruments<MetricName>,
  clock: Clock,
): DirectMetrics['followIssuer'] {
  const startedMs = clock.monotonicMs()
  const { read, follow } = scrapeSource(() => NO_GAUGES)
  const secondsOf = (ageMs: number): number =>
    (Number.isFinite(ageMs) ? ageMs : clock.monotonicMs() - startedMs) / 1000
  gauge('platform_direct_revocation_list_age_seconds', [{}], () => secondsOf(read().listAgeMs))
  gauge('platform_direct_signing_keys_age_seconds', [{}], () => secondsOf(read().keysAgeMs))
  gauge('platform_direct_revoked_tokens', [{}], () => read().revokedTokens)
  gauge('platform_direct_signing_keys', [{}], () => read().signingKeys)
  gauge('platform_direct_clock_skew_seconds', [{}], () => read().clockSkewMs / 1000)
  return follow
}

/** Registers the gauge of events that are not sent yet. @returns the function that sets its source */
function spoolGauge({ gauge }: Instruments<MetricName>): DirectMetrics['followSpool'] {
  const { read, follow } = scrapeSource(() => 0)
  gauge('platform_audit_spool_bytes', [{}], read)
  return follow
}

function issuerMetrics({ counter, gauge }: Instruments<MetricName>): TokenIssuerObserver {
  const polls = counter(
    'platform_direct_issuer_polls_total',
    ISSUER_DOCUMENTS.flatMap((document) => POLL_RESULTS.map((result) => ({ document, result }))),
  )
  const listsRefused = counter('platform_direct_revocations_refused_total', [{}])
  const keysRefused = counter('platform_direct_signing_keys_refused_total', [{}])
  const saved = gauge('platform_direct_state_saved', [{}])
  saved.set(1)
  return {
    polled: (document, result) => polls.inc({ document, result }),
    revocationsRefused: () => listsRefused.inc(),
    keyRefused: () => keysRefused.inc(),
    stateKept: (isKept) => saved.set(isKept ? 1 : 0),
  }
}

function reviewMetrics({ counter, histogram }: Instruments<MetricName>): DirectMetrics['reviewed'] {
  const reviews = counter(
    'platform_direct_webhook_requests_total',
    WEBHOOK_OUTCOMES.map((decision) => ({ decision })),
  )
  const durations = histogram('platform_direct_webhook_request_duration_seconds', REVIEW_BUCKETS, [
    {},
  ])
  return (decision, seconds) => {
    reviews.inc({ decision })
    durations.observe({}, seconds)
  }
}
