import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One line of the log (contract 8.5). */
export interface LogLine {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** Where a running operator is: enough to look at it from another process. */
export interface OperatorCoordinates {
  readonly pid: number
  /** The folder of its output: `stdout.log` and `stderr.log`. */
  readonly directory: string
}

/** An operator to look at. */
export interface Operator extends OperatorCoordinates {
  /** Every log line so far. */
  logs(): readonly LogLine[]
  /** Everything it has written. */
  output(): { readonly stdout: string; readonly stderr: string }
  /** The metrics page. */
  metrics(): Promise<string>
  /** Asks a health endpoint, such as `/readyz?verbose`. */
  health(path: string): Promise<{ readonly code: number; readonly body: string }>
}

/** Not for who is slow, but for who hangs: a busy machine stops a process for seconds. */
const ANSWER_LIMIT_MS = 20_000

/** An operator that runs, by its coordinates. */
export function observeProcess(coordinates: OperatorCoordinates): Operator {
  const { directory } = coordinates
  return {
    ...coordinates,
    logs: () => linesIn(directory),
    output: () => outputIn(directory),
    metrics: async () => (await ask(directory, 'metrics', '/metrics')).body,
    health: (path) => ask(directory, 'health', path),
  }
}

/** What the files of an operator's output hold by now. */
export function outputIn(directory: string): { readonly stdout: string; readonly stderr: string } {
  const read = (name: string): string => readFileSync(join(directory, name), 'utf8')
  return { stdout: read('stdout.log'), stderr: read('stderr.log') }
}

/** The whole lines of standard output. @throws Error for one that is not JSON */
export function linesIn(directory: string): readonly LogLine[] {
  const { stdout } = outputIn(directory)
  return stdout
    .slice(0, stdout.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine)
}

/** Both servers take any free port, and say in the log which one. */
async function ask(
  directory: string,
  server: 'health' | 'metrics',
  path: string,
): Promise<{ readonly code: number; readonly body: string }> {
  const line = linesIn(directory).find(({ msg, port }) => msg.includes(server) && port)
  if (!line) throw new Error(`the log has no line that says where ${server} is served`)
  const url = `http://127.0.0.1:${Number(line['port'])}${path}`
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) })
  return { code: answer.status, body: await answer.text() }
}
