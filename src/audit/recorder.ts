// The audit recorder of a process: the policy in force, and the log that its events go to (contract 21.1, 21.2).
import { auditPolicyOf, type AuditPolicy } from '../domain/audit/policy.ts'
import type { AuditSettings } from '../api/config.gen.ts'
import { AuditLog, type AuditLogDeps, type LogSettings } from './audit-log.ts'

/** The policy by which requests are recorded that arrive now, and their log. */
export interface Recording {
  readonly policy: AuditPolicy
  readonly log: Pick<
    AuditLog,
    'path' | 'isFailed' | 'write' | 'retain' | 'release' | 'announce' | 'settle'
  >
}

/** Megabytes at which a file is rotated where the setting is 0 or absent. */
const DEFAULT_MAX_SIZE = 100

/** Records by the settings in force. */
export class AuditRecorder {
  readonly #deps: AuditLogDeps
  readonly #retired = new Set<AuditLog>()
  #log: AuditLog | null = null
  #recording: Recording | null = null
  #isKnown = false

  constructor(deps: AuditLogDeps) {
    this.#deps = deps
  }

  /** Whether settings were applied: until then it is unknown which requests must be recorded. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** null = nothing is recorded. */
  get current(): Recording | null {
    return this.#recording
  }

  /** Bytes of lines that wait to be written. */
  get waitingBytes(): number {
    return [...this.#open()].reduce((sum, { waitingBytes }) => sum + waitingBytes, 0)
  }

  /** Applies settings that are valid; requests that have arrived keep their policy. */
  apply(settings: AuditSettings): void {
    this.#isKnown = true
    const policy = auditPolicyOf(settings)
    if (policy === null) this.#retire(null)
    this.#recording = policy && { policy, log: this.#logOf(logSettings(settings)) }
  }

  /** Writes what waits, and closes all logs. Requests that come later are refused. @param signal ends the wait */
  async end(signal: AbortSignal): Promise<void> {
    this.#recording = null
    this.#isKnown = false
    await Promise.all([...this.#open()].map((log) => log.end(signal)))
  }

  /** The log of these settings; the one before it retires when it has another path. */
  #logOf(settings: LogSettings): AuditLog {
    if (this.#log?.path === settings.path) {
      this.#log.changeRetention(settings)
      return this.#log
    }
    const log = this.#retiredAt(settings) ?? new AuditLog(settings, this.#deps)
    this.#retire(log)
    this.#log = log
    return log
  }

  /** The log of an earlier setting that still has this path open: a second one could not have its directory. */
  #retiredAt(settings: LogSettings): AuditLog | null {
    const log = [...this.#open()].find(({ path }) => path === settings.path)
    if (log === undefined) return null
    this.#retired.delete(log)
    log.resume(settings)
    return log
  }

  #retire(successor: AuditLog | null): void {
    if (this.#log === null) return
    this.#log.retire(successor)
    this.#retired.add(this.#log)
    this.#log = null
  }

  *#open(): Iterable<AuditLog> {
    if (this.#log !== null) yield this.#log
    for (const log of this.#retired)
      if (log.isClosed) this.#retired.delete(log)
      else yield log
  }
}

const logSettings = (settings: AuditSettings): LogSettings => ({
  path: settings.path ?? '',
  maxSize: settings.maxSize || DEFAULT_MAX_SIZE,
  maxBackups: settings.maxBackups ?? 0,
  maxAge: settings.maxAge ?? 0,
  compress: settings.compress ?? false,
})
