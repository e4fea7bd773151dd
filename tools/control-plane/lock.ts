// Lock files that name the process that holds them. A holder that has ended blocks no one, even after a restart
// of the machine or where another process has its id now.
import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createExclusively, readIfThere, removeUnchanged } from './exclusive-file.ts'

/** A process; `began` distinguishes it from a later one with the same id. */
export interface ProcessRef {
  readonly pid: number
  /** Opaque; differs between two starts of the machine too. */
  readonly began: string
}

const LOOK_MS = 200

/** The process with this id; null when there is none, or it has ended and its parent has not noticed. */
export async function processOf(pid: number): Promise<ProcessRef | null> {
  const began = await (process.platform === 'linux' ? beganOnLinux(pid) : beganByPs(pid))
  return began === null ? null : { pid, began }
}

/** Whether that very process still runs. */
export const isRunning = async ({ pid, began }: ProcessRef): Promise<boolean> =>
  (await processOf(pid))?.began === began

/** Kills a process; one that has gone in the meantime is as good. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Takes a lock file for this process, also from a holder that has ended.
 *
 * @param cleanUp called with the content of such a holder's file before the lock is taken over
 * @returns null, or the id of the process that holds the lock
 */
export async function tryLock(
  path: string,
  cleanUp: (content: string) => Promise<void>,
): Promise<number | null> {
  const content = await lockContent({})
  while (!(await createExclusively(path, content))) {
    const found = await readIfThere(path)
    if (found === null) continue
    const holder = holderIn(found)
    if (holder !== null && (await isRunning(holder))) return holder.pid
    await cleanUp(found)
    await removeUnchanged(path, found)
  }
  return null
}

/** Content of a lock file of this process, with more fields for the process that takes it over. */
export async function lockContent(more: object): Promise<string> {
  return JSON.stringify({ holder: await processOf(process.pid), ...more })
}

/**
 * Runs `work` while this process holds the lock file, and waits for another holder first; `waiting` is called
 * once with its process id.
 *
 * @throws whatever `work` throws, after the lock was released
 */
export async function withLock<T>(
  path: string,
  waiting: (pid: number) => void,
  work: () => Promise<T>,
): Promise<T> {
  const take = () => tryLock(path, async () => undefined)
  let holder = await take()
  if (holder !== null) waiting(holder)
  for (; holder !== null; holder = await take()) await delay(LOOK_MS)
  try {
    return await work()
  } finally {
    await rm(path, { force: true })
  }
}

/** The holder that a lock file names; null for a text that names none. */
function holderIn(content: string): ProcessRef | null {
  try {
    const { holder } = JSON.parse(content) as { readonly holder?: ProcessRef }
    return holder ?? null
  } catch {
    return null
  }
}

/** The start of the machine, and the clock ticks from there to the start of the process: see proc(5). */
async function beganOnLinux(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name of the program comes first, in parentheses, and may hold anything.
  const [state = 'X', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (stat === '' || 'ZX'.includes(state)) return null
  return `${await readFile('/proc/sys/kernel/random/boot_id', 'utf8')}${fields[18] ?? ''}`
}

async function beganByPs(pid: number): Promise<string | null> {
  const ps = promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)])
  return ps.then(
    ({ stdout }) => stdout.trim() || null,
    () => null,
  )
}
