import { type Clock, sleep } from './clock.ts'
import type { Log } from './log.ts'

/** The part of Node's `process` that the lifecycle uses. */
interface ProcessLike {
  on(event: string, listener: (reason: unknown) => void): unknown
  exit(code: number): unknown
}

/** The lifecycle of the process: shutdown steps and exit code (contract 8.3). */
export interface Lifecycle {
  /** Aborts when the shutdown begins. From then on readiness fails and waits end. */
  readonly stopping: AbortSignal
  /**
   * Adds a shutdown step. Steps run in reverse order, so a part stops before the parts it depends on. A step that
   * fails or takes longer than `withinMs` is logged and skipped; all steps together have 30 s.
   */
  readonly onStop: (step: string, withinMs: number, run: () => Promise<void>) => void
  /** Begins the shutdown, as a signal does. Later calls have no effect. */
  readonly stop: (because: string, exitCode: number) => void
  /** Resolves with the exit code once all steps have run. Never rejects. */
  readonly finished: Promise<number>
}

const LONGEST_STOP_MS = 30_000

interface Step {
  readonly name: string
  readonly withinMs: number
  readonly run: () => Promise<void>
}

/**
 * Handles signals: SIGTERM or SIGINT begins an orderly shutdown with exit code 0, a second signal exits at once with
 * 1. An uncaught error is logged, and the process exits with 1.
 */
export function startLifecycle(process: ProcessLike, clock: Clock, log: Log): Lifecycle {
  const stopping = new AbortController()
  const { promise: finished, resolve: finish } = Promise.withResolvers<number>()
  const steps: Step[] = []

  const stop = (because: string, exitCode: number): void => {
    if (stopping.signal.aborted) return
    log.info({ because }, 'stopping')
    stopping.abort()
    void runSteps(steps, clock, log).then(() => {
      log.info({ exitCode }, 'stopped')
      finish(exitCode)
    })
  }
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(1)
      else stop(signal, 0)
    })
  }
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, (err) => {
      log.error({ err, event }, 'unexpected error, exiting')
      process.exit(1)
    })
  }
  return {
    stopping: stopping.signal,
    onStop: (name, withinMs, run) => {
      steps.push({ name, withinMs, run })
    },
    stop,
    finished,
  }
}

/** Runs the last step until none is left. Not a loop over a copy: a start in progress may still add steps. */
async function runSteps(steps: Step[], clock: Clock, log: Log): Promise<void> {
  const endMs = clock.monotonicMs() + LONGEST_STOP_MS
  for (let step = steps.pop(); step; step = steps.pop()) {
    const { name, withinMs, run } = step
    const withinLeftMs = Math.min(withinMs, Math.max(endMs - clock.monotonicMs(), 0))
    const waiting = new AbortController()
    const late = sleep(clock, withinLeftMs, waiting.signal).then(() => 'late' as const)
    try {
      if ((await Promise.race([run(), late])) === 'late')
        log.warn({ step: name, withinMs: withinLeftMs }, 'shutdown step takes too long, going on')
    } catch (err) {
      log.error({ step: name, err }, 'shutdown step failed, going on')
    } finally {
      waiting.abort()
    }
  }
}
