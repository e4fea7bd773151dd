// The metrics of the audit log (contract 23.3).
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import { OMISSIONS } from '../../domain/audit/event.ts'
import { AUDIT_LEVELS, AUDIT_STAGES } from '../../domain/audit/policy.ts'
import {
  changingGauge,
  type Instruments,
  type Registry,
  scrapeSource,
} from '../../runtime/metrics.ts'

/** The metrics, with a method for each event that they count. */
export interface AuditMetrics {
  readonly auditRecorded: (level: string, stage: string) => void
  readonly auditOmitted: (why: string) => void
  readonly auditRefused: () => void
  readonly auditSuppressed: () => void
  readonly auditLost: (count: number) => void
  /** A write of lines has succeeded. */
  readonly auditWrote: (seconds: number) => void
  readonly auditSinkFailed: (isFailed: boolean) => void
  /** Sets the function that each scrape reads the bytes from that wait to be written. */
  readonly followAuditWaiting: (read: () => number) => void
}

const WRITE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]

/** Creates the metrics, all at zero. */
export function auditMetrics(make: Instruments<MetricName>): AuditMetrics {
  const events = make.counter(
    'platform_audit_events_total',
    AUDIT_LEVELS.filter((level) => level !== 'None').flatMap((level) =>
      AUDIT_STAGES.map((stage) => ({ level, stage })),
    ),
  )
  const omitted = make.counter(
    'platform_audit_omitted_total',
    OMISSIONS.map((why) => ({ why })),
  )
  const refused = make.counter('platform_audit_refused_total', [{}])
  const suppressed = make.counter('platform_audit_suppressed_total', [{}])
  const lost = make.counter('platform_audit_lost_total', [{}])
  const failed = make.gauge('platform_audit_sink_failed', [{}])
  const writes = make.histogram('platform_audit_write_seconds', WRITE_BUCKETS, [{}])
  const waiting = scrapeSource(() => 0)
  make.gauge('platform_audit_unwritten_bytes', [{}], waiting.read)
  return {
    auditRecorded: (level, stage) => events.inc({ level, stage }),
    auditOmitted: (why) => omitted.inc({ why }),
    auditRefused: () => refused.inc(),
    auditSuppressed: () => suppressed.inc(),
    auditLost: (count) => lost.inc({}, count),
    auditWrote: (seconds) => writes.observe(seconds),
    auditSinkFailed: (isFailed) => failed.set(isFailed ? 1 : 0),
    followAuditWaiting: waiting.follow,
  }
}

/** The metrics of events that agents send. */
export interface AgentMetrics {
  /** Sets the function that each scrape reads the lags in seconds from, by cluster. */
  readonly followAgentLags: (read: () => AgentLagSeconds) => void
}

type AgentLagSeconds = readonly (readonly [cluster: string, seconds: number])[]

const AGENT_LAG = 'platform_audit_agent_lag_seconds' satisfies MetricName

/** Creates the metrics, without a series before an agent sends events. */
export function agentMetrics(registry: Registry): AgentMetrics {
  const lags = scrapeSource<AgentLagSeconds>(() => [])
  const gauge = { name: AGENT_LAG, help: METRIC_HELP[AGENT_LAG], labels: ['cluster'] as const }
  changingGauge(registry, gauge, () =>
    lags.read().map(([cluster, seconds]) => [{ cluster }, seconds] as const),
  )
  return { followAgentLags: lags.follow }
}
