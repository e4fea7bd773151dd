import type { AuditSettings } from '../../../../src/api/config.gen.ts'
import { AuditRecorder } from '../../../../src/audit/recorder.ts'
import { AnonymousLimit } from '../../../../src/gateway/audit/anonymous-limit.ts'
import { CopyBudget } from '../../../../src/gateway/audit/copy-budget.ts'
import { RequestRecord } from '../../../../src/gateway/audit/request-record.ts'
import type { AuditDeps } from '../../../../src/gateway/stages/audit.ts'
import type { Clock } from '../../../../src/runtime/clock.ts'

/** An event as it was written. */
export type WrittenEvent = Readonly<Record<string, unknown>>

/** An audit log in memory. */
export interface MemoryAudit {
  readonly audit: AuditDeps
  readonly recorder: AuditRecorder
  readonly events: () => readonly WrittenEvent[]
  /** The lines as they were written. */
  readonly lines: readonly string[]
  /** What the observers counted, in order. */
  readonly counted: readonly string[]
  /** The sink fails until it is healed. */
  readonly fail: () => void
  readonly heal: () => void
  /** The next write waits for `release`. */
  readonly hold: () => () => void
}

/** Records by these settings, which are valid. */
export function memoryAudit(settings: AuditSettings, clock: Clock, perSecond = 50): MemoryAudit {
  const lines: string[] = []
  const counted: string[] = []
  let isFailing = false
  let held: Promise<void> = Promise.resolve()
  const recorder = new AuditRecorder({
    clock,
    openSink: () => ({
      open: async () => undefined,
      append: async (batch) => {
        await held
        if (isFailing) throw new Error('no space left on device')
        lines.push(...batch)
        return batch.length
      },
      changeRetention: () => undefined,
      close: async () => undefined,
    }),
    observer: {
      wrote: () => undefined,
      failed: () => counted.push('failed'),
      healed: () => counted.push('healed'),
      lost: (count) => counted.push(`lost ${count}`),
    },
  })
  recorder.apply({ enabled: true, path: '/audit', ...settings })
  const deps = {
    clock,
    anonymous: new AnonymousLimit(perSecond),
    signIn: new AnonymousLimit(perSecond),
    copies: { limit: 512 * 1024, budget: new CopyBudget(2 ** 26) },
    observer: {
      recorded: (level: string, stage: string) => counted.push(`${level} ${stage}`),
      omitted: (why: string) => counted.push(`omitted ${why}`),
      refused: () => counted.push('refused'),
      suppressed: () => counted.push('suppressed'),
    },
  }
  return {
    audit: {
      receive: () => recorder.current && new RequestRecord(recorder.current, deps),
      isKnown: () => recorder.isKnown,
    },
    recorder,
    events: () => lines.map((line) => JSON.parse(line) as WrittenEvent),
    lines,
    counted,
    fail: () => {
      isFailing = true
    },
    heal: () => {
      isFailing = false
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
  }
}
