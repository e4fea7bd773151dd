// Files that keep what a process knows over a restart, in a directory that other programs may share.
import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Flags to open a file that others may have put there: neither blocks on a FIFO nor follows a link. */
export const OPEN_TO_READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/**
 * The content of a file.
 *
 * @param maxBytes of the largest one
 * @returns null where there is none, and for a larger one, a link, or another kind of file
 * @throws Error of node:fs for another reason
 */
export async function readKeptFile(path: string, maxBytes: number): Promise<Buffer | null> {
  try {
    await using file = await open(path, OPEN_TO_READ)
    const found = await file.stat()
    return found.isFile() && found.size <= maxBytes ? await file.readFile() : null
  } catch (error) {
    if (NONE.has((error as NodeJS.ErrnoException).code)) return null
    throw error
  }
}

/** The codes for nothing, and for a link. */
const NONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ELOOP'])

/**
 * Replaces a file at once, or not at all: after a crash it has the old content or the new one. Returns once the disk has
 * it.
 *
 * @throws Error of node:fs
 */
export async function replaceKeptFile(
  path: string,
  chunks: Iterable<Buffer | string>,
): Promise<void> {
  // An earlier attempt may have left a file of any kind: opening a FIFO would wait for its reader.
  await rm(`${path}.new`, { force: true })
  {
    await using file = await open(`${path}.new`, 'wx', 0o600)
    await file.chmod(0o600)
    for (const chunk of chunks) await file.writeFile(chunk)
    await file.sync()
  }
  await rename(`${path}.new`, path)
  await syncDirectory(dirname(path))
}

/** Waits until the disk has the names of a directory. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r')
  await directory.sync()
}
