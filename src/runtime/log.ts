import { pino } from 'pino'

/** Levels from the least important to the most. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** The lowest level that is written. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Fields of a log line: plain values, lists of them, `err`, and references to objects. Of an object only name,
 * namespace, uid and resourceVersion are written, so that a Secret logged by mistake leaks nothing (contract 3.5).
 */
export type LogFields = Readonly<Record<string, unknown>>

/** A logger: each line is a constant sentence plus fields (contract 8.5). */
export interface Log {
  /** Whether debug lines are written. If not, callers can skip fields that are costly to compute. */
  readonly isDebugEnabled: boolean
  readonly debug: (fields: LogFields, sentence: string) => void
  readonly info: (fields: LogFields, sentence: string) => void
  readonly warn: (fields: LogFields, sentence: string) => void
  readonly error: (fields: LogFields, sentence: string) => void
  /** A logger that adds these fields to every line. */
  readonly child: (fields: LogFields) => Log
}

/** Where log lines go: standard output, or standard error while something else has that. */
export class LogOutput {
  // Asynchronous writes could reorder the last lines before an exit.
  readonly #standardOutput = pino.destination({ dest: 1, sync: true })
  readonly #standardError = pino.destination({ dest: 2, sync: true })
  /** Whether lines go to standard error. */
  isStandardError = false

  write(line: string): void {
    const output = this.isStandardError ? this.#standardError : this.#standardOutput
    output.write(line)
  }
}

/** A logger of JSON lines. Each line is written before the call returns, so an exit loses none. */
export function createLogger(level: LogLevel, output = new LogOutput()): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // errorFields has selected the fields of errors already; pino's serializer would add all properties.
    serializers: { err: (fields: unknown) => fields },
  }
  return logOf(pino(options, output))
}

function logOf(logger: pino.Logger): Log {
  return {
    isDebugEnabled: logger.isLevelEnabled('debug'),
    debug: (fields, sentence) => logger.debug(safeFields(fields), sentence),
    info: (fields, sentence) => logger.info(safeFields(fields), sentence),
    warn: (fields, sentence) => logger.warn(safeFields(fields), sentence),
    error: (fields, sentence) => logger.error(safeFields(fields), sentence),
    child: (fields) => logOf(logger.child(safeFields(fields))),
  }
}

const safeFields = (fields: LogFields): LogFields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, safeValue(name, value)]))

function safeValue(name: string, value: unknown): unknown {
  if (name === 'err' || value instanceof Error) return errorFields(value, MAX_CAUSES)
  if (Array.isArray(value)) return value.map((entry) => safeValue('', entry))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  return Object.fromEntries(entries.filter(([key, part]) => isReferenceField(key, part)))
}

const REFERENCE_FIELDS: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
])

const isReferenceField = (key: string, value: unknown): boolean =>
  REFERENCE_FIELDS.has(key) && typeof value === 'string'

/** Maximum number of causes of an error that are logged, as causes may be circular. */
const MAX_CAUSES = 5

/** The logged properties of an error; others may hold requests and responses. */
interface ErrorFields {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: ErrorFields
}

function errorFields(error: unknown, remainingCauses: number): ErrorFields {
  if (!(error instanceof Error))
    return { name: typeof error, message: 'the thrown value is not an Error' }
  const { name, message, stack, cause } = error
  const code = 'code' in error ? error.code : undefined
  return {
    name,
    message,
    // Such as ECONNREFUSED: the message of undici's AggregateError lacks it.
    ...(typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? { code } : {}),
    ...(stack === undefined || isFailedSystemCall(error) ? {} : { stack }),
    ...(cause === undefined || remainingCauses === 0
      ? {}
      : { cause: errorFields(cause, remainingCauses - 1) }),
  }
}

/**
 * Whether a system call failed, such as the opening of a file: the message names it, and the stack would only hide that
 * from whoever mistyped a path.
 */
function isFailedSystemCall(error: unknown): boolean {
  for (
    let one = error, left = MAX_CAUSES;
    one instanceof Error && left > 0;
    one = one.cause, left--
  )
    if ('syscall' in one) return true
  return false
}
