// The metrics of requests, streams and targets, which the gateway and the direct endpoint share (contract 15). They have
// the same names in both: the job of a scrape tells the processes apart.
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import {
  type Instruments,
  type Registry,
  changingGauge,
  scrapeSource,
} from '../../runtime/metrics.ts'
import { type ServerMetrics, serverMetrics } from './server-metrics.ts'

/** The values of the labels, which are closed sets. */
export interface RequestLabels {
  /** APIs that requests lead to. */
  readonly targets: readonly string[]
  /** Whether this process answers the authorization webhook. */
  readonly hasWebhook: boolean
  /** Whether this process passes requests on to the sign-in process. */
  readonly hasSignIn: boolean
  /** Why credentials are refused. */
  readonly refusals: readonly string[]
  /** Kinds of limits at which requests are answered with 429. */
  readonly limits: readonly string[]
  readonly streamKinds: readonly string[]
  readonly cutReasons: readonly string[]
}

const TARGET_LABELS = ['kind', 'project', 'name'] as const

/** A target, and whether it works. */
type TargetReadiness = readonly [Readonly<Record<(typeof TARGET_LABELS)[number], string>>, boolean]

/** The metrics, with a method for each event that they count. */
export interface RequestMetrics extends ServerMetrics {
  /**
   * A request was answered.
   *
   * @param target `Public` for the routes without a credential, `SignIn`, `Webhook`, an API, or `Other` for no API
   * @param verb the API server's verb, or the HTTP method
   * @param seconds until the head of the response was known
   */
  readonly answered: (target: string, verb: string, code: number, seconds: number) => void
  /** A credential was presented. @param refusal why it was refused; null = it was valid */
  readonly authenticated: (refusal: string | null) => void
  readonly scopeDenied: (target: string) => void
  /** A request was refused by a limit of the gateway. */
  readonly limited: (kind: string) => void
  readonly streamOpened: (kind: string) => void
  readonly streamClosed: (kind: string) => void
  readonly streamCut: (reason: string) => void
  /** Sets the function that each scrape reads the targets from, and whether each works. */
  readonly followTargets: (read: () => Iterable<TargetReadiness>) => void
}

/** Clients choose the method, so a method that is not in the list counts as `other`. */
const READS = ['get', 'head']
const METHODS = [...READS, 'other']
const CHANGES = ['create', 'update', 'patch', 'delete', 'deletecollection']
const VERBS = [...READS, 'list', 'watch', ...CHANGES, 'other']

const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Status codes that have a series from the start. */
const CODES = {
  Public: ['200', '304', '500', '503'],
  Other: ['400', '401', '404', '500', '501', '503'],
  SignIn: ['200', '303', '400', '401', '403', '404', '413', '429', '500', '502', '503', '504'],
  Webhook: ['200', '400', '413', '500'],
  /** The webhook, whatever the method. */
  WebhookRefused: ['401', '404', '405'],
  api: ['200', '401', '403', '404', '429', '500', '503', '504'],
}

const requestLabels = ({ targets, hasWebhook, hasSignIn }: RequestLabels) => {
  const labelsOf = (target: string, verbs: readonly string[], codes: readonly string[]) =>
    verbs.flatMap((verb) => codes.map((code) => ({ target, verb, code })))
  // API servers send reviews by POST, which counts as another method than a read.
  const webhook = [
    ...labelsOf('Webhook', ['other'], CODES.Webhook),
    ...labelsOf('Webhook', METHODS, CODES.WebhookRefused),
  ]
  return [
    ...labelsOf('Public', READS, CODES.Public),
    ...labelsOf('Public', ['other'], ['405']),
    ...labelsOf('Other', METHODS, CODES.Other),
    ...(hasWebhook ? webhook : []),
    ...(hasSignIn ? labelsOf('SignIn', METHODS, CODES.SignIn) : []),
    ...targets.flatMap((target) => labelsOf(target, VERBS, CODES.api)),
  ]
}

/** Creates the metrics, all at zero. */
export function requestMetrics(
  registry: Registry,
  make: Instruments<MetricName>,
  labels: RequestLabels,
): RequestMetrics {
  const targets = scrapeSource<Iterable<TargetReadiness>>(() => [])
  const name = 'platform_gateway_target_ready'
  changingGauge(registry, { name, help: METRIC_HELP[name], labels: TARGET_LABELS }, () =>
    [...targets.read()].map(([series, isReady]) => [series, isReady ? 1 : 0] as const),
  )
  return {
    ...answerMetrics(make, labels),
    ...streamMetrics(make, labels),
    ...serverMetrics(make),
    followTargets: targets.follow,
  }
}

type AnswerMetrics = Pick<RequestMetrics, 'answered' | 'authenticated' | 'scopeDenied' | 'limited'>

function answerMetrics(make: Instruments<MetricName>, labels: RequestLabels): AnswerMetrics {
  const { targets, refusals, limits } = labels
  const requests = make.counter('platform_gateway_requests_total', requestLabels(labels))
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
  }
}

/** What counts streams. */
export type StreamMetrics = Pick<RequestMetrics, 'streamOpened' | 'streamClosed' | 'streamCut'>

function streamMetrics(
  make: Instruments<MetricName>,
  { streamKinds, cutReasons }: RequestLabels,
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

function verbLabel(method: string, verbs: readonly string[]): string {
  const verb = method.toLowerCase()
  return verbs.includes(verb) ? verb : 'other'
}
