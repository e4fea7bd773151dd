// Runs of endpoint sync, one after the other: each new configuration starts a new run.
import type { SyncConfig } from '../../sync/config/config.ts'
import { type RunOptions, type SyncRun, startRun } from '../../sync/run.ts'

/** The current run, and the runs that replace it when the configuration changes. */
export interface Runs {
  readonly current: () => SyncRun
  /** Starts the controllers of this run and of all that follow. */
  readonly lead: () => void
  readonly restart: (config: SyncConfig) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Starts the run of the first configuration. It reads both clusters, and writes only after `lead`. */
export function createRuns(config: SyncConfig, options: RunOptions): Runs {
  let current = startRun(config, options)
  let leads = false
  let isStopped = false
  return {
    current: () => current,
    lead: () => {
      leads = true
      if (!isStopped) current.lead()
    },
    restart: async (next) => {
      // Two runs at a time would undo each other's work.
      await current.stop()
      if (isStopped) return
      current = startRun(next, options)
      if (leads) current.lead()
    },
    stop: () => {
      isStopped = true
      return current.stop()
    },
  }
}
