import type { Clock } from './clock.ts'
import type { Log, LogFields } from './log.ts'

/** Logs a warning about a cause that every poll may find again. */
export type Warn = (cause: string, fields: LogFields, sentence: string) => void

const AGAIN_AFTER_MS = 60_000

/** Maximum number of causes to remember; only texts of errors can be that many. */
const MOST_CAUSES = 100

/** Creates a function that logs a warning at most once a minute for each cause. */
export function throttledWarnings(clock: Clock, log: Log): Warn {
  const loggedMs = new Map<string, number>()
  return (cause, fields, sentence) => {
    const nowMs = clock.monotonicMs()
    const lastMs = loggedMs.get(cause) ?? Number.NEGATIVE_INFINITY
    if (nowMs - lastMs < AGAIN_AFTER_MS) return
    if (loggedMs.size >= MOST_CAUSES) loggedMs.clear()
    loggedMs.set(cause, nowMs)
    log.warn(fields, sentence)
  }
}
