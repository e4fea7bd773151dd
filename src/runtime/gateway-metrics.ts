// The gateway's metrics (contract 8.4 and, of the gateway's own, 15).
import {
  type ClientLabels,
  type ClientMetrics,
  clientMetrics,
  processRegistry,
  type Scrape,
} from './client-metrics.ts'
import { instruments } from './instruments.ts'

/** One method for each thing that happens. */
export interface GatewayMetrics extends ClientMetrics {
  /**
   * A request was answered.
   *
   * @param target `Public` for the routes without a credential, `Other` for what needs one
   */
  readonly answered: (target: 'Public' | 'Other', method: string, code: number) => void
  /** From when to when the certificate in use is good, in epoch milliseconds. */
  readonly certificateShown: (notBeforeMs: number, notAfterMs: number) => void
  /** Takes the age of what is served from there, in milliseconds, from now on. */
  readonly followWatchAge: (ageMs: () => number) => void
  readonly scrape: Scrape
}

const READS = ['get', 'head']
/** What is answered in ordinary and bad times. */
const REQUESTS = [
  ...READS.flatMap((verb) =>
    ['200', '304', '500', '503'].map((code) => ({ target: 'Public', verb, code })),
  ),
  { target: 'Public', verb: 'other', code: '405' },
  ...[...READS, 'other'].map((verb) => ({ target: 'Other', verb, code: '401' })),
]

/** The metrics, all at zero, in a registry of their own. */
export function createGatewayMetrics(labels: ClientLabels): GatewayMetrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry)
  const requests = make.counter('platform_gateway_requests_total', REQUESTS)
  let watchAgeMs = (): number => 0
  make.gauge('platform_gateway_watch_age_seconds', [{}], () => watchAgeMs() / 1000)
  const from = make.gauge('platform_gateway_certificate_not_before_timestamp_seconds', [{}])
  const until = make.gauge('platform_gateway_certificate_not_after_timestamp_seconds', [{}])
  return {
    ...clientMetrics(make, labels),
    answered: (target, method, code) =>
      requests.inc({ target, verb: verbOf(method), code: String(code) }),
    certificateShown: (notBeforeMs, notAfterMs) => {
      from.set(notBeforeMs / 1000)
      until.set(notAfterMs / 1000)
    },
    followWatchAge: (ageMs) => {
      watchAgeMs = ageMs
    },
    scrape,
  }
}

/** A method is the caller's word: no label takes it as it is. */
const verbOf = (method: string): string => {
  const verb = method.toLowerCase()
  return READS.includes(verb) ? verb : 'other'
}
