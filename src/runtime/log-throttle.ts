import type { Clock } from './clock.ts'
import type { Log, LogFields } from './log.ts'

/** Warns of a cause that may come up with every poll. */
export type Warn = (cause: string, fields: LogFields, sentence: string) => void

const AGAIN_AFTER_MS = 60_000

/** Most causes that are remembered: they are few, but for texts of errors. */
const MOST_CAUSES = 100

/** Warnings of which the same cause is logged once a minute at most. */
export function repeatedWarnings(clock: Clock, log: Log): Warn {
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
