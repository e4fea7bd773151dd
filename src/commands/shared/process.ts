// The run of a process that works until it is stopped: clock, log, lifecycle and metrics, and then its parts.
import { readFileSync } from 'node:fs'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { type Invocation, printText } from '../../runtime/flags.ts'
import { type Lifecycle, startLifecycle } from '../../runtime/lifecycle.ts'
import { type Log, type LogLevel, LogOutput, createLogger } from '../../runtime/log.ts'
import type { ProcessInputs } from './flags.ts'

/** Shared by all parts of a process. */
export interface CommandProcess<Settings, Metrics> {
  readonly settings: Settings
  readonly clock: Clock
  readonly log: Log
  readonly logOutput: LogOutput
  readonly lifecycle: Lifecycle
  readonly metrics: Metrics
}

/** How a process begins: its metrics, and then its parts. */
interface ProcessStart<Settings, Metrics> {
  readonly createMetrics: (settings: Settings, clock: Clock) => Metrics
  /** Starts all parts. A rejection ends the process with code 1. */
  readonly start: (self: CommandProcess<Settings, Metrics>) => Promise<void>
}

/**
 * Runs a process until it is stopped, or prints the text that the command line leads to.
 *
 * @returns the exit code, after all parts have stopped
 */
export async function runProcess<Settings extends { readonly logLevel: LogLevel }, Metrics>(
  invocation: Invocation<Settings>,
  { createMetrics, start }: ProcessStart<Settings, Metrics>,
): Promise<number> {
  if (invocation.kind !== 'run') return printText(invocation)
  const { settings } = invocation
  const clock = systemClock()
  const logOutput = new LogOutput()
  const log = createLogger(settings.logLevel, logOutput)
  const lifecycle = startLifecycle(process, clock, log)
  const metrics = createMetrics(settings, clock)
  // Not awaited: a start may wait for the Lease or a certificate, and a signal may arrive before.
  start({ settings, clock, log, logOutput, lifecycle, metrics }).catch((err: unknown) => {
    log.error({ err }, 'could not start')
    lifecycle.stop('start failed', 1)
  })
  return lifecycle.finished
}

/** The environment and files of this process. */
export const processInputs: ProcessInputs = {
  env: (name) => process.env[name] ?? null,
  file: (path) => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return null
    }
  },
}
