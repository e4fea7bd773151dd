import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Order, Report } from './guard.ts'
import { killIfThere } from './process.ts'
import { type DaemonName, STOP_ORDER } from './programs.ts'

/** How to run a daemon. */
export interface Command {
  readonly daemon: DaemonName
  readonly command: string
  readonly args: readonly string[]
  /** The file that its output is added to. */
  readonly logFile: string
}

/** How a daemon ended. */
export interface Ended {
  readonly daemon: DaemonName
  /** An exit code, the name of a signal, or why there was no process. */
  readonly how: string
  /** It was told to; it was told to, took too long and was killed; or it ended by itself. */
  readonly because: 'told' | 'tookTooLong' | 'itself'
}

interface Started {
  readonly daemon: DaemonName
}

type EventKind = 'started' | 'ended'

/** The starter's side of a guard process. */
export class Guard {
  readonly #process: ChildProcess
  readonly #pids = new Map<DaemonName, number>()
  readonly #told = new Map<DaemonName, NodeJS.Signals>()
  readonly #events = new EventEmitter<{ ended: [Ended]; started: [Started] }>()

  private constructor(guard: ChildProcess) {
    this.#process = guard
    this.#events.setMaxListeners(0)
    guard.on('message', (message) => this.#hear(message as Report))
    guard.once('exit', (code) => this.#outlive(code))
  }

  /**
   * Starts a guard for a data folder.
   *
   * @param keep whether the folder survives the guard
   * @throws Error when another control plane uses the folder
   */
  static async begin(dataDir: string, keep: boolean): Promise<Guard> {
    const log = openSync(join(dataDir, 'guard.log'), 'a', 0o600)
    const child = fork(join(import.meta.dirname, 'guard.ts'), [dataDir, keep ? 'keep' : 'remove'], {
      detached: true,
      execArgv: [],
      stdio: ['ignore', log, log, 'ipc'],
    })
    closeSync(log)
    const first = await new Promise<Report>((resolve, reject) => {
      child.once('message', (message) => resolve(message as Report))
      child.once('error', reject)
      child.once('exit', () =>
        reject(new Error(`the guard ended at once: see ${dataDir}/guard.log`)),
      )
    })
    if (first.kind === 'inUse') {
      throw new Error(
        `${dataDir} is in use by the control plane of process ${first.starter}: stop that one first, or choose another folder`,
      )
    }
    return new Guard(child)
  }

  /** The process id of a daemon; null while it does not run. */
  pid(daemon: DaemonName): number | null {
    return this.#pids.get(daemon) ?? null
  }

  /** Calls the listener whenever a daemon ends. */
  onEnded(listener: (ended: Ended) => void): void {
    this.#events.on('ended', listener)
  }

  /** Runs a daemon; resolves when there is a process. @throws Error when there is none */
  async start({ daemon, command, args, logFile }: Command): Promise<void> {
    const outcome = this.#next(daemon, ['started', 'ended'])
    this.#tell({ kind: 'start', daemon, command, args, logFile })
    const event = await outcome
    if ('how' in event) throw new Error(`${daemon} did not start: ${event.how}`)
  }

  /** Ends a daemon by a signal, after ten seconds by SIGKILL; resolves when it is gone. */
  async stop(daemon: DaemonName, signal: NodeJS.Signals): Promise<void> {
    if (!this.#pids.has(daemon)) return
    const gone = this.#next(daemon, ['ended'])
    this.#told.set(daemon, signal)
    this.#tell({ kind: 'stop', daemon, signal })
    await gone
  }

  /** Ends every daemon in order and the guard itself; removes a folder that is not kept. */
  async finish(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    for (const daemon of this.#pids.keys()) this.#told.set(daemon, 'SIGKILL')
    const gone = once(this.#process, 'exit')
    if (this.#process.connected) this.#process.disconnect()
    await gone
  }

  #tell(order: Order): void {
    if (!this.#process.connected) throw new Error('the control plane has been stopped')
    // Whatever keeps it from arriving ends the guard, and with it whoever waits.
    this.#process.send(order, () => undefined)
  }

  /** The next event of one of these kinds about a daemon. */
  #next(daemon: DaemonName, kinds: readonly EventKind[]): Promise<Started | Ended> {
    return new Promise((resolve) => {
      const hear = (event: Started | Ended): void => {
        if (event.daemon !== daemon) return
        for (const kind of kinds) this.#events.off(kind, hear)
        resolve(event)
      }
      for (const kind of kinds) this.#events.on(kind, hear)
    })
  }

  #hear(report: Report): void {
    if (report.kind === 'started') {
      this.#told.delete(report.daemon)
      this.#pids.set(report.daemon, report.pid)
      this.#events.emit('started', { daemon: report.daemon })
    } else if (report.kind === 'ended') {
      this.#end(report.daemon, report.how)
    }
  }

  #end(daemon: DaemonName, how: string): void {
    const told = this.#told.get(daemon)
    const wasKilled = how === 'SIGKILL' && told !== 'SIGKILL'
    const because = told === undefined ? 'itself' : wasKilled ? 'tookTooLong' : 'told'
    this.#told.delete(daemon)
    this.#pids.delete(daemon)
    this.#events.emit('ended', { daemon, how, because })
  }

  /** A guard that was killed leaves its daemons; nothing else would end them from then on. */
  #outlive(exitCode: number | null): void {
    for (const daemon of STOP_ORDER) {
      const pid = this.#pids.get(daemon)
      if (pid === undefined) this.#told.set(daemon, 'SIGKILL')
      else if (exitCode !== 0) killIfThere(pid)
      this.#end(daemon, 'its guard ended')
    }
  }
}
