import { expect, test } from 'vitest'
import { METRIC_HELP } from '../../../../src/api/metrics.ts'
import { auditMetrics } from '../../../../src/commands/shared/audit-metrics.ts'
import { instruments, processRegistry } from '../../../../src/runtime/metrics.ts'

test('the metrics of the audit log count and show what each event says (23.3)', async () => {
  const { registry, scrape } = processRegistry()
  const metrics = auditMetrics(instruments(registry, METRIC_HELP))
  const shown = async () =>
    (await scrape()).body
      .split('\n')
      .filter((line) => /^platform_audit_(?!.*_bucket).* [1-9]/.test(line))
  expect(await shown()).toEqual([])
  metrics.auditRecorded('Metadata', 'ResponseComplete')
  metrics.auditOmitted('size')
  metrics.auditRefused()
  metrics.auditSuppressed()
  metrics.auditLost(3)
  metrics.auditWrote(0.002)
  metrics.auditSinkFailed(true)
  metrics.followAuditWaiting(() => 4096)
  expect(await shown()).toEqual([
    'platform_audit_events_total{level="Metadata",stage="ResponseComplete"} 1',
    'platform_audit_omitted_total{why="size"} 1',
    'platform_audit_refused_total 1',
    'platform_audit_suppressed_total 1',
    'platform_audit_lost_total 3',
    'platform_audit_sink_failed 1',
    'platform_audit_write_seconds_count 1',
    'platform_audit_unwritten_bytes 4096',
  ])
  metrics.auditSinkFailed(false)
  expect(await shown()).not.toContain('platform_audit_sink_failed 1')
})
