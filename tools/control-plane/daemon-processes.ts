import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Tether, openTether } from '../tether.ts'
import { replaceFile } from './exclusive-file.ts'
import { type ProcessRef, isRunning, killIfThere, lockContent, processOf, tryLock } from './lock.ts'
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
interface Ended {
  readonly daemon: DaemonName
  /** The exit code, the name of the signal, or the process whose end ended it. */
  readonly how: string
  /** `ordered`: a stop was asked for; `tookTooLong`: the same, but it had to be killed; else it ended by itself. */
  readonly because: 'ordered' | 'tookTooLong' | 'itself'
}

/** Lock of a data folder, which also names the daemons: the next starter ends those that were left. */
const CLAIM_FILE = 'claim.json'
/** How long a daemon may take to end after a signal, before it is killed. */
const GRACE_MS = 10_000
const LOOK_MS = 50

/** The daemons of one data folder. They end with this process, and with the shell that sees to that. */
export class DaemonProcesses {
  readonly #dataDir: string
  readonly #isKept: boolean
  readonly #tether: Tether
  readonly #running = new Map<DaemonName, ChildProcess>()
  readonly #ordered = new Map<DaemonName, NodeJS.Signals>()
  readonly #events = new EventEmitter<{ ended: [Ended] }>()
  #claimed: Promise<void> = Promise.resolve()
  #finished: Promise<void> | null = null
  #isTetherLost = false

  private constructor(dataDir: string, isKept: boolean) {
    this.#dataDir = dataDir
    this.#isKept = isKept
    this.#tether = openTether(isKept ? null : dataDir)
    this.#tether.shell.once('exit', () => this.#tetherEnded())
    this.#claim()
  }

  /**
   * Takes a data folder, and ends the daemons that a starter left there which is gone.
   *
   * @param isKept whether the folder survives; otherwise it is removed in the end
   * @throws Error when another control plane uses the folder
   */
  static async begin(dataDir: string, isKept: boolean): Promise<DaemonProcesses> {
    const path = join(dataDir, CLAIM_FILE)
    const starter = await tryLock(path, (claim) => endOrphans(path, claim))
    if (starter === null) return new DaemonProcesses(dataDir, isKept)
    throw new Error(
      `${dataDir} is in use by the control plane of process ${starter}: stop that one first, or choose another folder`,
    )
  }

  /** The process id of a daemon; null while it does not run. */
  pid(daemon: DaemonName): number | null {
    return this.#running.get(daemon)?.pid ?? null
  }

  /** Calls the listener whenever a daemon ends. */
  onEnded(listener: (ended: Ended) => void): void {
    this.#events.on('ended', listener)
  }

  /** Runs a daemon; resolves when there is a process. @throws Error when there is none */
  async start({ daemon, command, args, logFile }: Command): Promise<void> {
    if (this.#finished || this.#isTetherLost) throw new Error('the control plane has been stopped')
    const log = openSync(logFile, 'a', 0o600)
    const child = spawn(command, args, {
      cwd: this.#dataDir,
      // In a session of its own: Ctrl-C is for the starter.
      detached: true,
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    child.on('error', () => undefined)
    if (child.pid !== undefined) this.#hold(daemon, child)
    try {
      await once(child, 'spawn')
    } catch (cause) {
      throw new Error(`${daemon} did not start: ${(cause as Error).message}`, { cause })
    }
    await this.#claimed
  }

  /** Ends a daemon by a signal, after ten seconds by SIGKILL; resolves when it is gone. */
  async stop(daemon: DaemonName, signal: NodeJS.Signals): Promise<void> {
    const child = this.#running.get(daemon)
    if (child === undefined) return
    const ended = once(child, 'exit')
    this.#ordered.set(daemon, signal)
    child.kill(signal)
    const late = setTimeout(() => child.kill('SIGKILL'), GRACE_MS)
    await ended
    clearTimeout(late)
  }

  /** Ends every daemon in order; removes a folder that is not kept. May be called twice. */
  finish(): Promise<void> {
    this.#finished ??= this.#finish()
    return this.#finished
  }

  async #finish(): Promise<void> {
    for (const daemon of STOP_ORDER) await this.stop(daemon, this.#isKept ? 'SIGTERM' : 'SIGKILL')
    await this.#claimed
    const rest = this.#isKept ? join(this.#dataDir, CLAIM_FILE) : this.#dataDir
    await rm(rest, { recursive: true, force: true, maxRetries: 10 })
    this.#tether.release()
  }

  #hold(daemon: DaemonName, child: ChildProcess): void {
    this.#running.set(daemon, child)
    this.#claim()
    child.once('exit', (code, signal) => {
      const ordered = this.#ordered.get(daemon)
      const wasKilled = signal === 'SIGKILL' && ordered !== 'SIGKILL'
      const because = ordered === undefined ? 'itself' : wasKilled ? 'tookTooLong' : 'ordered'
      const how = this.#isTetherLost ? 'its guard ended' : (signal ?? `exit code ${code}`)
      this.#ordered.delete(daemon)
      this.#running.delete(daemon)
      this.#claim()
      this.#events.emit('ended', { daemon, how, because })
    })
  }

  /** Nothing would end the daemons with this process from then on. */
  #tetherEnded(): void {
    this.#isTetherLost = true
    for (const child of this.#running.values()) child.kill('SIGKILL')
  }

  /** Writes down what runs now, one write after the other; a folder that is gone stops nothing. */
  #claim(): void {
    const pids = STOP_ORDER.flatMap((daemon) => this.pid(daemon) ?? [])
    this.#tether.hold(pids)
    const write = async (): Promise<void> => {
      const daemons = (await Promise.all(pids.map(processOf))).filter((one) => one !== null)
      const content = await lockContent({ guard: this.#tether.shell.pid, daemons })
      await replaceFile(join(this.#dataDir, CLAIM_FILE), content)
    }
    this.#claimed = this.#claimed.then(write).catch((error: unknown) => console.error(error))
  }
}

/** Kills the daemons of a claim whose starter is gone, and waits until they are. */
async function endOrphans(path: string, claim: string): Promise<void> {
  for (const one of daemonsIn(path, claim)) {
    if (await isRunning(one)) killIfThere(one.pid)
    while (await isRunning(one)) await delay(LOOK_MS)
  }
}

function daemonsIn(path: string, claim: string): readonly ProcessRef[] {
  try {
    const { daemons = [] } = JSON.parse(claim) as { readonly daemons?: readonly ProcessRef[] }
    return [...daemons]
  } catch (cause) {
    const message = `${path} is unreadable: remove it when no control plane runs there`
    throw new Error(message, { cause })
  }
}
