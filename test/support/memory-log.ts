import type { Log, LogFields } from '../../src/runtime/log.ts'

/** A logged line, with the fields of parent loggers. */
export interface LoggedLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly fields: LogFields
  readonly sentence: string
}

/** A log that records every line, also below its level. */
export function memoryLog(least: 'debug' | 'info' = 'info'): {
  readonly log: Log
  readonly lines: readonly LoggedLine[]
} {
  const lines: LoggedLine[] = []
  const logOf = (parent: LogFields): Log => {
    const at =
      (level: LoggedLine['level']) =>
      (fields: LogFields, sentence: string): void =>
        void lines.push({ level, fields: { ...parent, ...fields }, sentence })
    return {
      isDebugEnabled: least === 'debug',
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => logOf({ ...parent, ...fields }),
    }
  }
  return { log: logOf({}), lines }
}
