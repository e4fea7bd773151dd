// The processes of `make run`: each as its own ServiceAccount, started again whenever it ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Access } from '../control-plane/access.ts'
import { NODE_FLAGS } from '../node-flags.ts'
import { tether } from '../tether.ts'

/** How to run a command of the program. */
export interface ProgramOptions {
  readonly command: 'manager' | 'gateway' | 'direct' | 'syncer'
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
  /** The file that says its process id. */
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
  /** Ends it in its own order, for good. */
  stop(): Promise<void>
}

/** One process; where its health is served is known as soon as it says so. */
interface Running {
  readonly child: ChildProcess
  readonly healthPort: () => string | undefined
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
  const output = createWriteStream(logFile, { flags: 'a' })
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
    ready: () => ready(title, () => current.healthPort(), logFile),
    stop: () => {
      isStopping = true
      clearInterval(renewal)
      return ended(current.child)
    },
  }
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
  const child = spawn(process.execPath, [...NODE_FLAGS, main, command, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  tether(child)
  child.stdout.pipe(output, { end: false })
  child.stderr.pipe(output, { end: false })
  writeFileSync(pidFile, `${child.pid}\n`)
  return { child, healthPort: healthPortIn(child.stdout) }
}

const SERVING_HEALTH = /"port":(\d+),"msg":"serving health probes"/

/** Reads along until the log says it. */
function healthPortIn(stdout: NodeJS.ReadableStream): () => string | undefined {
  let said = ''
  const read = (chunk: Buffer): void => {
    said += chunk.toString()
    if (SERVING_HEALTH.test(said)) stdout.off('data', read)
  }
  stdout.on('data', read)
  return () => SERVING_HEALTH.exec(said)?.[1]
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
