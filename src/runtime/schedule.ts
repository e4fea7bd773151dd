import { schedule } from 'node-cron'
import type { Log } from './log.ts'

/** How late a run may start. With node-cron's default of a second a busy machine would skip runs. */
const LATEST_RUN_MS = 60_000

/**
 * Runs a job by a cron expression, in UTC. Only for jobs without exact times: a busy process runs it up to a minute
 * late, and a suspended one skips runs. If the job throws, the error is logged, and the job runs again at its next
 * time.
 *
 * @returns ends the schedule
 * @throws Error for an invalid expression
 */
export function runOnSchedule(expression: string, log: Log, job: () => void): () => void {
  const failed = (because: string | Error): void =>
    log.error(because instanceof Error ? { err: because } : { because }, 'scheduled job failed')
  const ignored = (): void => undefined
  // Without a logger node-cron writes to the console.
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
