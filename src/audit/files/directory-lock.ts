// One process writes to a directory (contract 22.1). Node has no flock; SQLite locks a file by the kernel's record locks, which
// end with the process, by kill -9 too, and hold between containers that share the volume. The kernel drops such a lock when its
// process closes any other descriptor of the file: nothing else may open it, and SQLite counts its own.
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { statsOf } from './directory.ts'
import { identityAt, isSameFile } from './identity.ts'

/** The file that is locked; it is empty, and stays. */
const LOCK_FILE = 'audit.lock'

/** SQLite's code for a file that another process has locked. */
const SQLITE_BUSY = 5

/** A directory that no other process writes to. */
export interface DirectoryLock {
  /** Whether the locked file is still the one that another process would lock. */
  readonly isInPlace: () => Promise<boolean>
  readonly release: () => void
}

/**
 * Locks a directory.
 *
 * @throws Error at once while another process, or another log of this one, has it locked
 */
export async function lockDirectory(folder: string): Promise<DirectoryLock> {
  const path = join(folder, LOCK_FILE)
  await makeFile(path)
  const stats = await statsOf(path)
  if (!stats?.isFile() || stats.size > 0) throw new Error(`${path} is not an empty file`)
  const file = await identityAt(path)
  const release = await lockFile(path)
  const isInPlace = async (): Promise<boolean> => isSameFile(file, await identityAt(path))
  if (await isInPlace()) return { isInPlace, release }
  release()
  throw new Error(`${path} was replaced while it was locked`)
}

/** Makes the file where there is none. One that is there is not opened: closing it would drop the lock of this process. */
async function makeFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

async function lockFile(path: string): Promise<() => void> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Without a journal beside the file; the transaction never ends.
    database.exec('PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE')
    return () => database.close()
  } catch (error) {
    database.close()
    if (isBusy(error)) throw new Error('another process writes to this directory', { cause: error })
    throw error
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
