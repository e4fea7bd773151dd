// A command of the program as a child process, such as `node src/main.ts manager`. Its output goes to
// files, so that nothing is lost when it is killed and any process can read it.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IMAGE_VARIABLES, NODE_FLAGS } from '../../tools/node-flags.ts'
import { tether } from '../../tools/tether.ts'
import { eventually } from './eventually.ts'

/** How a process ended: by an exit code, or by a signal. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running process. `await using` stops it at the end of the block. */
export interface OwnProcess extends Operator, AsyncDisposable {
  /** How it ended, once it has. */
  readonly exited: Promise<Exit>
  kill(signal: NodeJS.Signals): void
  /** Ends it by SIGTERM, also one that SIGSTOP holds; by SIGKILL when that takes too long. */
  stop(): Promise<Exit>
}

/** How to start a command that serves health and metrics. */
export interface ServingOptions {
  /** Flags of this process; they override the flags that every test sets. */
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** When the start is complete: once it is ready (absent), or once its health endpoints answer. */
  readonly until?: 'ready' | 'serving'
  /** The file of the program, of an older version; that of this checkout when absent. */
  readonly programFile?: string | undefined
}

/** How to start a command that works on one cluster. */
export interface ProcessOptions extends ServingOptions {
  readonly kubeconfig: string
}

const START_LIMIT_MS = 30_000
/** The program's limit for a shutdown (contract 8.3), with a margin for a busy machine. */
const STOP_LIMIT_MS = 40_000
const ANY_PORT = '127.0.0.1:0'
/** Where processes of a run leave their output; tools/test.ts names a folder for each run. */
const OUTPUT_ROOT = process.env['TEST_OUTPUT'] ?? join(import.meta.dirname, '../../.test')

/**
 * Starts a command and waits until it is ready. It ends with the test process, whatever ends that.
 *
 * @throws Error with the end of its output when it ends first or is not ready within 30 s
 */
export const startCommand = (
  command: 'manager' | 'gateway' | 'direct' | 'delivery' | 'sign-in',
  { kubeconfig, flags = [], ...options }: ProcessOptions,
): Promise<OwnProcess> =>
  startServing(command, { ...options, flags: [`--kubeconfig=${kubeconfig}`, ...flags] })

/** As startCommand, for any command; its clusters are among the flags. */
export async function startServing(command: string, options: ServingOptions): Promise<OwnProcess> {
  const { child, directory } = spawnCommand(command, options)
  const exited = once(child, 'exit').then(([code, signal]): Exit => ({ code, signal }))
  tether(child)
  try {
    if (child.pid === undefined) throw new Error(`${process.execPath} could not be started`)
    const running = observeProcess({ pid: child.pid, directory })
    await awaitHealth(child, running, options.until ?? 'ready')
    const stop = () => stopped(child, exited)
    return {
      ...running,
      exited,
      kill: (signal) => void child.kill(signal),
      stop,
      [Symbol.asyncDispose]: async () => void (await stop()),
    }
  } catch (error) {
    child.kill('SIGKILL')
    await exited
    throw error
  }
}

function spawnCommand(
  command: string,
  { flags = [], env, programFile }: ServingOptions,
): {
  readonly child: ChildProcess
  readonly directory: string
} {
  mkdirSync(OUTPUT_ROOT, { recursive: true })
  const directory = mkdtempSync(join(OUTPUT_ROOT, `${command}-`))
  const files = ['stdout.log', 'stderr.log'].map((name) => openSync(join(directory, name), 'a'))
  const own = [`--health-probe-bind-address=${ANY_PORT}`, `--metrics-bind-address=${ANY_PORT}`]
  const child = spawn(process.execPath, [...programArgs(programFile), command, ...own, ...flags], {
    env: cleanEnv(env),
    stdio: ['ignore', ...files],
  })
  for (const file of files) closeSync(file)
  return { child, directory }
}

async function stopped(child: ChildProcess, exited: Promise<Exit>): Promise<Exit> {
  child.kill('SIGTERM')
  child.kill('SIGCONT')
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
  try {
    return await exited
  } finally {
    clearTimeout(limit)
  }
}

/** Waits until the health endpoint answers, or until it answers 200. */
async function awaitHealth(
  child: ChildProcess,
  running: Operator,
  until: 'ready' | 'serving',
): Promise<void> {
  const path = until === 'ready' ? '/readyz?verbose' : '/healthz'
  await awaited(child, running, `the process is ${until}`, async () => {
    const { code, body } = await running.health(path)
    if (code !== 200 && until === 'ready') throw new Error(`${path} answers ${code}: ${body}`)
    return true
  })
}

/** `eventually`, but fails as soon as the process ends, with the end of its output. */
async function awaited<T extends {}>(
  child: ChildProcess,
  running: Operator,
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const ended = (): number | NodeJS.Signals | null => child.exitCode ?? child.signalCode
  try {
    const probeLiving = async () => (ended() === null ? probe() : null)
    const seen = await eventually(what, probeLiving, { withinMs: START_LIMIT_MS })
    if (seen === null) throw new Error(`${what}: it ended instead (${ended()})`)
    return seen
  } catch (cause) {
    const { stdout, stderr } = running.output()
    const tail = `${stdout}${stderr}`.trimEnd().split('\n').slice(-20).join('\n')
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${why}\nits output in ${running.directory} ends with:\n${tail}`, { cause })
  }
}

// The operator, `node src/main.ts manager`, with its own ServiceAccount.

/** A running operator. `await using` stops it at the end of the block. */
export type OwnOperator = OwnProcess

/** The issuer of tokens in tests (contract 7.2). Nothing is served there. */
export const ISSUER = 'https://platform.example.com/oidc'

/**
 * Starts an operator and waits until it is ready. It ends with the test process, whatever ends that.
 *
 * @throws Error with the end of its output when it ends first or is not ready within 30 s
 */
export const startOperator = (options: ProcessOptions): Promise<OwnOperator> =>
  startCommand('manager', options)

/**
 * The arguments of Node that run the program; its command and flags follow. Without `programFile`, PROGRAM_FILE names another
 * file of it.
 */
export const programArgs = (programFile?: string): readonly string[] => [
  ...NODE_FLAGS,
  programFile ?? process.env['PROGRAM_FILE'] ?? join(import.meta.dirname, '../../src/main.ts'),
]

/** How a finished run ended and what it printed. */
export interface RunResult {
  /** Its exit code; null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const KEPT = ['PATH', 'HOME', 'NODE_COMPILE_CACHE', ...Object.keys(IMAGE_VARIABLES)]

/** Variables of a test's child processes: what they need to run, and what the test adds. */
export function cleanEnv(added: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = KEPT.flatMap((name) => {
    const value = process.env[name]
    return value ? [[name, value] as const] : []
  })
  return { ...Object.fromEntries(kept), ...added }
}

/** Runs `management-operator <args>` to its end; killed when that takes longer than 50 s. */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RunResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...programArgs(), ...args],
      { env: cleanEnv(env), timeout: 50_000, killSignal: 'SIGKILL' },
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

/** One line of the log (contract 8.5). */
export interface LogLine {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** A running operator, as another process can observe it. */
export interface OperatorCoordinates {
  readonly pid: number
  /** The folder of its output: `stdout.log` and `stderr.log`. */
  readonly directory: string
}

/** An observed operator. */
export interface Operator extends OperatorCoordinates {
  /** Every log line so far. */
  logs(): readonly LogLine[]
  /** Everything it has written. */
  output(): { readonly stdout: string; readonly stderr: string }
  /** The metrics page. */
  metrics(): Promise<string>
  /** The response of a health endpoint, such as `/readyz?verbose`. */
  health(path: string): Promise<{ readonly code: number; readonly body: string }>
}

/** Detects a hanging process, not a slow one: a busy machine stops a process for seconds. */
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

/** The output of an operator so far. */
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

/** Both servers use any free port, and log which one. */
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

// `make run` as a child process.

/** A running `make run`. */
export interface MakeRun {
  /** Its standard output and standard error so far. */
  readonly printed: { out: string; err: string }
  /** Its exit code, once it has ended; null when a signal ended it. */
  readonly exited: Promise<number | null>
  readonly kill: ChildProcess['kill']
  /** Waits until it has printed that. @throws Error when it ends before, or takes longer than two minutes */
  says(what: RegExp): Promise<void>
}

const WITHIN_MS = 120_000

/** Starts `make run` with its data in `folder`; `env` is added to the variables of the test. */
export function startMakeRun(folder: string, env: Readonly<Record<string, string>> = {}): MakeRun {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../tools/run.ts')], {
    env: { ...process.env, RUN_DIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.err += text))
  let hasEnded = false
  const exited = once(child, 'close').then(([code]) => {
    hasEnded = true
    return code as number | null
  })
  return {
    printed,
    exited,
    kill: (signal) => child.kill(signal),
    says: async (what) => {
      const look = () => what.test(printed.out) || (hasEnded ? null : undefined)
      const seen = await eventually(`make run says ${what}`, look, { withinMs: WITHIN_MS })
      if (seen === null) throw new Error(`it ended: ${printed.out}${printed.err}`)
    },
  }
}
