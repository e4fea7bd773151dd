// The parent of the daemons. It ends them, in order, as soon as the process that started it is gone,
// however that died: the channel between the two closes with it. It runs in a session of its own,
// so that Ctrl-C in a terminal reaches the starter only. See control-plane.ts.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { claimFolder, releaseClaim, updateClaim } from './claim.ts'
import { type DaemonName, STOP_ORDER } from './programs.ts'

/** What the starter tells its guard. The closed channel is the order to stop everything and end. */
export type Order =
  | {
      readonly kind: 'start'
      readonly daemon: DaemonName
      readonly command: string
      readonly args: readonly string[]
      readonly logFile: string
    }
  | { readonly kind: 'stop'; readonly daemon: DaemonName; readonly signal: NodeJS.Signals }

/** What the guard tells its starter. */
export type Report =
  | { readonly kind: 'ready' }
  /** The folder belongs to the control plane of another starter. */
  | { readonly kind: 'inUse'; readonly starter: number }
  | { readonly kind: 'started'; readonly daemon: DaemonName; readonly pid: number }
  /** `how` is an exit code, the name of a signal, or why the program could not be run. */
  | { readonly kind: 'ended'; readonly daemon: DaemonName; readonly how: string }

/** How long a daemon may take over a signal before it is killed. */
const GRACE_MS = 10_000

const dataDir = process.argv[2] ?? ''
const starter = process.ppid
const isThrowAway = process.argv[3] === 'remove'
const running = new Map<DaemonName, ChildProcess>()
let stopping = false

function report(message: Report): void {
  // A starter that has just died is no failure: `disconnect` follows.
  if (process.connected) process.send?.(message, () => undefined)
}

function writeNow(): Promise<void> {
  const daemons = Object.fromEntries([...running].map(([name, { pid }]) => [name, pid]))
  return updateClaim(dataDir, { guard: process.pid, starter, stopping, daemons })
}

let written: Promise<void> = Promise.resolve()

/** Writes one after the other, so that the last state stays; a folder that is gone stops nothing. */
function writeClaim(): Promise<void> {
  written = written.then(writeNow).catch((error: unknown) => console.error(error))
  return written
}

function start(order: Order & { readonly kind: 'start' }): void {
  const { daemon } = order
  const log = openSync(order.logFile, 'a', 0o600)
  const child = spawn(order.command, order.args, { cwd: dataDir, stdio: ['ignore', log, log] })
  closeSync(log)
  child.on('error', (error) => {
    if (child.pid === undefined) report({ kind: 'ended', daemon, how: error.message })
  })
  if (child.pid === undefined) return
  running.set(daemon, child)
  child.once('exit', (code, signal) => {
    running.delete(daemon)
    void writeClaim()
    report({ kind: 'ended', daemon, how: signal ?? `exit code ${code}` })
  })
  report({ kind: 'started', daemon, pid: child.pid })
  void writeClaim()
}

async function stop(daemon: DaemonName, signal: NodeJS.Signals): Promise<void> {
  const child = running.get(daemon)
  if (child === undefined) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await Promise.race([ended, delay(GRACE_MS)])
  child.kill('SIGKILL')
  await ended
}

async function finish(): Promise<void> {
  if (stopping) return
  stopping = true
  await writeClaim()
  for (const daemon of STOP_ORDER) await stop(daemon, isThrowAway ? 'SIGKILL' : 'SIGTERM')
  await writeClaim()
  await releaseClaim(dataDir)
  if (isThrowAway) await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
  process.exit(0)
}

function obey(order: Order): void {
  if (stopping) return
  if (order.kind === 'start') start(order)
  else void stop(order.daemon, order.signal)
}

const holder = await claimFolder(dataDir, process.pid, starter)
if (holder !== null) {
  process.send?.({ kind: 'inUse', starter: holder } satisfies Report, () => process.exit(0))
} else {
  process.on('uncaughtException', (error) => {
    console.error(error)
    void finish()
  })
  process.on('message', (order) => obey(order as Order))
  process.on('disconnect', () => void finish())
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => void finish())
  }
  // The starter may have died before anybody listened.
  if (process.connected) report({ kind: 'ready' })
  else void finish()
}
