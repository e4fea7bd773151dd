import { schedule } from 'node-cron'
import type { Log } from './log.ts'

/** node-cron's default, a second, is too short on a busy machine: the run would be skipped. */
const LATEST_RUN_MS = 60_000

/**
 * Runs a job by a cron expression, in UTC, until the returned function is called. For coarse jobs
 * only: a busy process runs it up to a minute late, and skips runs that it slept through.
 * A job that throws is logged, and runs again when it is due.
 *
 * @throws Error for an invalid expression
 */
export function runOnSchedule(expression: string, log: Log, job: () => void): () => void {
  const failed = (because: string | Error): void =>
    log.error(because instanceof Error ? { err: because } : { because }, 'scheduled job failed')
  const ignored = (): void => undefined
  // By default node-cron writes to the console.
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
