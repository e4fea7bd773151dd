// Compression of backups (contract 22.1). A backup and its `.gz` may stand side by side after a crash; each is whole then.
import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { syncDirectory } from '../../runtime/kept-file.ts'
import { archiveInTheMakingOf } from './backups.ts'

/**
 * Replaces a file by its `.gz`, once the disk has that.
 *
 * @throws Error when that fails or the signal aborts; the file is then as it was
 */
export async function compressFile(path: string, signal: AbortSignal): Promise<void> {
  const making = archiveInTheMakingOf(path)
  try {
    await writeArchive(path, making, signal)
    await rename(making, `${path}.gz`)
  } catch (error) {
    await rm(making, { force: true })
    throw error
  }
  await syncDirectory(dirname(path))
  await rm(path)
}

/** Writes the archive; streams close their files. @throws Error unless the disk has it */
async function writeArchive(path: string, making: string, signal: AbortSignal): Promise<void> {
  const source = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  const from = source.createReadStream()
  try {
    const target = await open(making, 'wx', 0o600)
    await pipeline(from, createGzip(), target.createWriteStream({ flush: true }), { signal })
  } finally {
    from.destroy()
  }
}
