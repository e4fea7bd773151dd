import { pino } from 'pino'

/** Levels from the least important to the most. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** Lowest level that is written. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Fields beside the sentence: plain values, lists of them, `err`, and references to objects. Of an
 * object only name, namespace, uid and resourceVersion are written, so a Secret or a key that is
 * logged by mistake leaks nothing (contract 3.5).
 */
export type LogFields = Readonly<Record<string, unknown>>

/** A log: each line is a constant sentence plus fields (contract 8.5). */
export interface Log {
  /** Whether debug lines are written; callers skip costly fields when not. */
  readonly tellsDebug: boolean
  readonly debug: (fields: LogFields, sentence: string) => void
  readonly info: (fields: LogFields, sentence: string) => void
  readonly warn: (fields: LogFields, sentence: string) => void
  readonly error: (fields: LogFields, sentence: string) => void
  /** A log that adds these fields to every line. */
  readonly child: (fields: LogFields) => Log
}

/** Writes lines of JSON to standard output, each before the call returns: an exit loses none. */
export function createLogger(level: LogLevel): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // errorFields has reduced errors already; pino's serializer would add all their properties.
    serializers: { err: (fields: unknown) => fields },
  }
  // Asynchronous writes would reorder the last lines before an exit.
  return logOf(pino(options, pino.destination({ dest: 1, sync: true })))
}

function logOf(logger: pino.Logger): Log {
  return {
    tellsDebug: logger.isLevelEnabled('debug'),
    debug: (fields, sentence) => logger.debug(shown(fields), sentence),
    info: (fields, sentence) => logger.info(shown(fields), sentence),
    warn: (fields, sentence) => logger.warn(shown(fields), sentence),
    error: (fields, sentence) => logger.error(shown(fields), sentence),
    child: (fields) => logOf(logger.child(shown(fields))),
  }
}

const shown = (fields: LogFields): LogFields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shownValue(name, value)]))

function shownValue(name: string, value: unknown): unknown {
  if (name === 'err' || value instanceof Error) return errorFields(value, LONGEST_CHAIN)
  if (Array.isArray(value)) return value.map((entry) => shownValue('', entry))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  return Object.fromEntries(entries.filter(([key, part]) => isReference(key, part)))
}

const REFERENCE: ReadonlySet<string> = new Set(['name', 'namespace', 'uid', 'resourceVersion'])

const isReference = (key: string, value: unknown): boolean =>
  REFERENCE.has(key) && typeof value === 'string'

/** Causes may be circular. */
const LONGEST_CHAIN = 5

/** The logged properties of an error; others may hold requests and responses. */
interface ErrorFields {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: ErrorFields
}

function errorFields(error: unknown, links: number): ErrorFields {
  if (!(error instanceof Error))
    return { name: typeof error, message: 'something was thrown that is no Error' }
  const { name, message, stack, cause } = error
  const code = 'code' in error ? error.code : undefined
  return {
    name,
    message,
    // Such as ECONNREFUSED: the message of undici's AggregateError lacks it.
    ...(typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? { code } : {}),
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined || links === 0 ? {} : { cause: errorFields(cause, links - 1) }),
  }
}
