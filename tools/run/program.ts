// The processes of `make run`: each as its own ServiceAccount, started again whenever it ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Access } from '../control-plane/access.ts'
import { NODE_FLAGS } from '../node-flags.ts'
import { tether } from '../tether.ts'
import { inspectorFlags, type RunCommand } from './development.ts'

/** The folders in which the parts of `make run` find and keep files. */
export interface RunFolders {
  /** The folder of this repository. */
  readonly root: string
  /** The folder of `make run`. */
  readonly home: string
  /** The program's main.ts. */
  readonly main: string
}

/** How to run a command of the program. */
export interface ProgramOptions {
  readonly command: RunCommand
  /** Its ServiceAccounts, each in the cluster that the flag is to name. */
  readonly accounts: readonly Account[]
  /** Its name in messages. */
  readonly title: string
  /** Its own flags. */
  readonly flags: readonly string[]
  /** The program's main.ts. */
  readonly main: string
  /** The file that its output is added to. */
  readonly logFile: string
  /** The file with its process id. */
  readonly pidFile: string
  readonly log: (line: string) => void
}

/** A ServiceAccount of a process, and the flag that takes its kubeconfig. */
interface Account {
  readonly flag: string
  readonly access: Access
  readonly namespace: string
  readonly name: string
}

/** A process that is kept running. */
export interface KeptProgram {
  /** Resolves when it answers that it is ready. @throws Error when it does not within a minute */
  ready(): Promise<void>
  /** Address of its metrics; another one after each restart. undefined = not served yet */
  metricsUrl(): string | undefined
  /** Stops it with its orderly shutdown, and starts it again. */
  restart(): void
  /** Stops it for good, with its orderly shutdown. */
  stop(): Promise<void>
}

/** One process, with the ports that its log has named so far. */
interface Running {
  readonly child: ChildProcess
  readonly portOf: (server: 'health probes' | 'metrics') => string | undefined
}

const RESTART_AFTER_MS = 1000
const READY_WITHIN_MS = 60_000
const LOOK_MS = 100
/** Its token is good for a day; a fresh one is read within a minute. */
const RENEW_TOKEN_EVERY_MS = 12 * 60 * 60 * 1000

/**
 * Starts a command, and again whenever it ends: as a Deployment would.
 *
 * @throws Error when there is no ServiceAccount for it
 */
export async function keepProgram(options: ProgramOptions): Promise<KeptProgram> {
  const { accounts, title, logFile, log } = options
  const renew = (): Promise<readonly string[]> =>
    Promise.all(
      accounts.map(async ({ flag, access, namespace, name }) => {
        return `${flag}=${await access.serviceAccountKubeconfig(namespace, name)}`
      }),
    )
  const kubeconfigs = await renew()
  const renewal = setInterval(
    () => void renew().catch((error: Error) => log(error.message)),
    RENEW_TOKEN_EVERY_MS,
  )
  const output = openLog(logFile, log)
  let isStopping = false
  const start = (): Running => {
    const running = spawnProgram(options, kubeconfigs, output)
    running.child.once('exit', (code, signal) => {
      if (isStopping) return
      log(`${title} ended (${signal ?? code}), starting it again`)
      setTimeout(() => {
        if (!isStopping) current = start()
      }, RESTART_AFTER_MS)
    })
    return running
  }
  let current = start()
  const names = accounts.map(({ namespace, name }) => `${namespace}/${name}`).join(' and ')
  log(`${title} runs as service account ${names}, its log is ${logFile}`)
  return {
    ready: () => ready(title, () => current.portOf('health probes'), logFile),
    metricsUrl: () => {
      const port = current.portOf('metrics')
      return port && `http://127.0.0.1:${port}/metrics`
    },
    restart: () => void current.child.kill('SIGTERM'),
    stop: () => {
      isStopping = true
      clearInterval(renewal)
      return ended(current.child)
    },
  }
}

/** A log that can't be written, such as on a full disk, is said once and loses its lines; the program goes on. */
function openLog(file: string, log: (line: string) => void): NodeJS.WritableStream {
  const output = createWriteStream(file, { flags: 'a' })
  const sink = new PassThrough()
  output.once('error', ({ message }) => {
    log(`cannot write ${file}, its lines are lost from here on: ${message}`)
    sink.unpipe(output)
    sink.resume()
  })
  sink.pipe(output)
  return sink
}

function spawnProgram(
  { main, command, pidFile, flags: own }: ProgramOptions,
  kubeconfigs: readonly string[],
  output: NodeJS.WritableStream,
): Running {
  const flags = [
    ...kubeconfigs,
    '--metrics-bind-address=127.0.0.1:0',
    '--health-probe-bind-address=127.0.0.1:0',
    ...own,
  ]
  // In a group of its own: Ctrl-C is for this process, which ends the operator in its turn.
  const nodeFlags = [...NODE_FLAGS, ...inspectorFlags(command, process.env['DEBUG'])]
  const child = spawn(process.execPath, [...nodeFlags, main, command, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  tether(child)
  child.stdout.pipe(output, { end: false })
  child.stderr.pipe(output, { end: false })
  writeFileSync(pidFile, `${child.pid}\n`)
  return { child, portOf: portsIn(child.stdout) }
}

const SERVING = /"port":(\d+),"msg":"serving (health probes|metrics)"/g
const MOST_SERVERS = 2

/** Reads along until the log has named the ports of both servers. */
function portsIn(stdout: NodeJS.ReadableStream): Running['portOf'] {
  const ports = new Map<string, string>()
  let text = ''
  const read = (chunk: Buffer): void => {
    text += chunk.toString()
    for (const [, port = '', server = ''] of text.matchAll(SERVING)) ports.set(server, port)
    if (ports.size === MOST_SERVERS) stdout.off('data', read)
  }
  stdout.on('data', read)
  return (server) => ports.get(server)
}

async function ready(
  title: string,
  healthPort: () => string | undefined,
  logFile: string,
): Promise<void> {
  const deadlineMs = performance.now() + READY_WITHIN_MS
  while (!(await isReady(healthPort()))) {
    if (performance.now() > deadlineMs) {
      throw new Error(`${title} was not ready within ${READY_WITHIN_MS / 1000} s: see ${logFile}`)
    }
    await delay(LOOK_MS)
  }
}

async function isReady(port: string | undefined): Promise<boolean> {
  if (port === undefined) return false
  const asked = fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(5000) })
  return asked.then(
    ({ ok }) => ok,
    () => false,
  )
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((end) => child.once('exit', end))
  child.kill('SIGTERM')
  await exit
}
