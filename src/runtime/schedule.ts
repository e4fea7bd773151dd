import { schedule } from 'node-cron'
import type { Log } from './log.ts'

/**
 * Runs a job by a cron expression, in UTC, until the returned function is called. For coarse jobs
 * only: a run that a busy or sleeping process misses is not made up for. A job that throws is logged,
 * and runs again when it is due.
 *
 * @throws Error for an expression that is none
 */
export function runOnSchedule(expression: string, log: Log, job: () => void): () => void {
  const failed = (because: string | Error): void =>
    log.error(because instanceof Error ? { err: because } : { because }, 'scheduled job failed')
  const ignored = (): void => undefined
  // Without a logger of ours node-cron would write to the console.
  const logger = { error: failed, warn: failed, info: ignored, debug: ignored }
  const options = { timezone: 'Etc/UTC', suppressMissedWarning: true, logger }
  const task = schedule(expression, job, options)
  return () => void task.destroy()
}
