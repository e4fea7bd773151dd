import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command, DaemonProcesses } from './daemon-processes.ts'

/** One program of a running control plane. */
export interface Daemon {
  /** Its process id; null while it is stopped. */
  readonly pid: number | null
  /**
   * Ends it by a signal, SIGTERM by default, and by SIGKILL ten seconds later; resolves when the
   * process is gone. Does nothing while it is stopped.
   */
  stop(signal?: NodeJS.Signals): Promise<void>
  /**
   * Starts it again as it was: same port, same flags; resolves when it is ready. Does nothing while
   * it runs.
   *
   * @throws Error with the end of its log when it ends or is not ready within a minute
   */
  start(): Promise<void>
}

/** A daemon that could not start because another process listens on its port. */
export class PortTaken extends Error {}

const READY_LIMIT_MS = 60_000
const LOOK_MS = 50
const LOG_TAIL_LINES = 10

/** A handle on a daemon that does not run yet; `isReady` is polled until it is true. */
export function createDaemon(
  processes: DaemonProcesses,
  command: Command,
  isReady: () => Promise<boolean>,
): Daemon {
  const { daemon } = command
  return {
    get pid() {
      return processes.pid(daemon)
    },
    stop: (signal = 'SIGTERM') => processes.stop(daemon, signal),
    async start() {
      if (processes.pid(daemon) !== null) return
      await processes.start(command)
      const deadlineMs = performance.now() + READY_LIMIT_MS
      while (!(await isReady().catch(() => false))) {
        if (processes.pid(daemon) === null) throw await failure(command, 'ended while it started')
        if (performance.now() > deadlineMs) {
          await processes.stop(daemon, 'SIGKILL')
          throw await failure(command, `was not ready within ${READY_LIMIT_MS / 1000} s`)
        }
        await delay(LOOK_MS)
      }
    },
  }
}

async function failure({ daemon, logFile }: Command, what: string): Promise<Error> {
  const lines = (await readFile(logFile, 'utf8')).trimEnd().split('\n')
  const tail = lines.slice(-LOG_TAIL_LINES).join('\n')
  const message = `${daemon} ${what}; ${logFile} ends with:\n${tail}`
  return tail.includes('address already in use') ? new PortTaken(message) : new Error(message)
}
