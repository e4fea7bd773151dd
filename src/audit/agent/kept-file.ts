// A small file that is replaced at once, or not at all: after a crash it has the old content or the new one.
import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory } from '../files/directory.ts'

/** Neither blocks on a FIFO nor follows a link. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/**
 * The text of a file.
 *
 * @param maxBytes of the largest one
 * @returns null where there is none, and for one that is larger or no regular file
 * @throws Error of node:fs for another reason
 */
export async function readKept(path: string, maxBytes: number): Promise<string | null> {
  try {
    await using file = await open(path, READ)
    const found = await file.stat()
    return found.isFile() && found.size <= maxBytes ? await file.readFile('utf8') : null
  } catch (error) {
    if (NONE.has((error as NodeJS.ErrnoException).code)) return null
    throw error
  }
}

/** The codes for nothing, and for a link. */
const NONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ELOOP'])

/** Replaces the file, and returns once the disk has it. @throws Error of node:fs */
export async function keep(path: string, text: string): Promise<void> {
  // An earlier attempt may have left a file of any kind.
  await rm(`${path}.new`, { force: true })
  {
    await using file = await open(`${path}.new`, 'wx', 0o600)
    await file.writeFile(text)
    await file.sync()
  }
  await rename(`${path}.new`, path)
  await syncDirectory(dirname(path))
}
