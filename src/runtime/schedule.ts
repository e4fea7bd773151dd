import { schedule } from 'node-cron'
import type { Log } from './log.ts'

/** node-cron's own second is less than a busy machine takes at times, and the next run may be far off. */
const LATEST_RUN_MS = 60_000

/**
 * Runs a job by a cron expression, in UTC, until the returned function is called. For coarse jobs
 * only: a busy process runs it up to a minute late, and what a sleeping one misses is not made up for.
 * A job that throws is logged, and runs again when it is due.
 *
 * @throws Error for an expression that is none
 */
export function runOnSchedule(expression: string, log: Log, job: () => void): () => void {
  const failed = (because: string | Error): void =>
    log.error(because instanceof Error ? { err: because } : { because }, 'scheduled job failed')
  const ignored = (): void => undefined
  // Without a logger of ours node-cron would write to the console.
  const logger = { error: failed, warn: failed, info: ignored, debug: ignored }
  const options = {
    timezone: 'Etc/UTC',
    suppressMissedWarning: true,
    missedExecutionTolerance: LATEST_RUN_MS,
    logger,
  }
  const task = schedule(expression, job, options)
  return () => void task.destroy()
}
