// The audit log of a process that serves requests: its recorder, and what each request needs of it (contract 21, 22).
import type { AuditSettings } from '../../api/config.gen.ts'
import { type SinkPlace, STANDARD_OUTPUT, openSink } from '../../audit/files/sink.ts'
import type { Spool } from '../../audit/files/spool.ts'
import { AuditRecorder, type Recording } from '../../audit/recorder.ts'
import { AnonymousLimit } from '../../gateway/audit/anonymous-limit.ts'
import { CopyBudget } from '../../gateway/audit/copy-budget.ts'
import { RequestRecord } from '../../gateway/audit/request-record.ts'
import type { AuditDeps } from '../../gateway/stages/audit.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log, LogOutput } from '../../runtime/log.ts'
import type { AuditFlagSettings } from './audit-flags.ts'
import type { AuditMetrics } from './audit-metrics.ts'

/** The parts of a process that startAudit uses. */
interface AuditedProcess {
  readonly clock: Clock
  readonly log: Log
  readonly logOutput: LogOutput
  readonly lifecycle: Pick<Lifecycle, 'onStop'>
  readonly metrics: AuditMetrics
  readonly settings: { readonly audit: AuditFlagSettings }
}

/** A running audit log. */
export interface StartedAudit extends AuditDeps {
  /** The log in force; null = nothing is recorded. */
  readonly recording: () => Recording | null
  /** Applies settings; requests that have arrived keep the earlier ones. */
  readonly apply: (settings: AuditSettings) => void
}

const STOPS_WITHIN_MS = 6000

/**
 * Starts the audit log, which records nothing until settings are applied.
 *
 * @param spool of files that are sent elsewhere; null = they are not
 */
export function startAudit(self: AuditedProcess, spool: Spool | null): StartedAudit {
  const { clock, logOutput, lifecycle, metrics } = self
  const { audit: flags } = self.settings
  const recorder = createRecorder(self, spool)
  metrics.followAuditWaiting(() => recorder.waitingBytes)
  lifecycle.onStop('audit log', STOPS_WITHIN_MS, () =>
    recorder.end(AbortSignal.timeout(STOPS_WITHIN_MS)),
  )
  const options = {
    clock,
    anonymous: new AnonymousLimit(flags.anonymousPerSecond),
    signIn: new AnonymousLimit(flags.anonymousPerSecond),
    copies: { limit: flags.bodyLimitBytes, budget: new CopyBudget(flags.bufferBytes) },
    observer: {
      recorded: metrics.auditRecorded,
      omitted: metrics.auditOmitted,
      refused: metrics.auditRefused,
      suppressed: metrics.auditSuppressed,
    },
  }
  return {
    isKnown: () => recorder.isKnown,
    recording: () => recorder.current,
    receive: () => recorder.current && new RequestRecord(recorder.current, options),
    apply: (applied) => {
      recorder.apply(applied)
      // In the same turn, before the first line: readers of standard output expect nothing else there.
      logOutput.isStandardError = recorder.current?.log.path === STANDARD_OUTPUT
    },
  }
}

/** The recorder, whose log says once when it can't be written, and once when it can be again. */
function createRecorder(
  { clock, log, metrics, settings }: AuditedProcess,
  spool: Spool | null,
): AuditRecorder {
  const place: SinkPlace = {
    subdirectory: settings.audit.subdirectory,
    sync: settings.audit.sync,
    spool,
    clock,
    upkeepFailed: (err) => log.warn({ err }, 'backups of the audit log cannot be tidied'),
  }
  return new AuditRecorder({
    clock,
    openSink: (logSettings) => openSink(logSettings, place),
    observer: {
      wrote: metrics.auditWrote,
      failed: (err) => {
        metrics.auditSinkFailed(true)
        log.error(
          { err },
          'the audit log cannot be written: requests that it must record are refused',
        )
      },
      healed: () => {
        metrics.auditSinkFailed(false)
        log.info({}, 'the audit log can be written again')
      },
      lost: (count) => metrics.auditLost(count),
    },
  })
}
