// The metrics of the audit log (contract 23.3).
import type { MetricName } from '../../api/metrics.ts'
import { OMISSIONS } from '../../domain/audit/event.ts'
import { AUDIT_LEVELS, AUDIT_STAGES } from '../../domain/audit/policy.ts'
import type { Instruments } from '../../runtime/metrics.ts'

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
  let waiting: () => number = () => 0
  make.gauge('platform_audit_unwritten_bytes', [{}], () => waiting())
  return {
    auditRecorded: (level, stage) => events.inc({ level, stage }),
    auditOmitted: (why) => omitted.inc({ why }),
    auditRefused: () => refused.inc(),
    auditSuppressed: () => suppressed.inc(),
    auditLost: (count) => lost.inc({}, count),
    auditWrote: (seconds) => writes.observe(seconds),
    auditSinkFailed: (isFailed) => failed.set(isFailed ? 1 : 0),
    followAuditWaiting: (read) => {
      waiting = read
    },
  }
}
