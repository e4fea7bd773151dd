// The directory of an audit log (contract 22.1). It is made at start and at a change alone: one that goes away later may be a
// volume that was unmounted, and a new one in its place would hide that.
import type { Stats } from 'node:fs'
import { lstat, mkdir, readdir } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { syncDirectory } from '../../runtime/kept-file.ts'

/** The directory of a log. */
export interface LogDirectory {
  /** The setting `path`. */
  readonly path: string
  /** The folder below it; null = the path itself. */
  readonly subdirectory: string | null
}

/** The folder that the files of the log are in. */
export const folderOf = ({ path, subdirectory }: LogDirectory): string =>
  subdirectory === null ? resolve(path) : join(resolve(path), subdirectory)

/**
 * Checks the directory, and makes its missing last elements.
 *
 * @param mayMake false = what is missing is a fault
 * @throws Error when it or its parent is missing, and for a link or file in its place
 */
export async function checkDirectory(directory: LogDirectory, mayMake: boolean): Promise<void> {
  if (!isAbsolute(directory.path))
    throw new Error(`the directory of the audit log is not absolute: ${directory.path}`)
  // Without a slash at its end, which would follow a link.
  await checkFolder(resolve(directory.path), mayMake)
  if (directory.subdirectory !== null) await checkFolder(folderOf(directory), mayMake)
}

async function checkFolder(path: string, mayMake: boolean): Promise<void> {
  const stats = (await statsOf(path)) ?? (mayMake ? await makeFolder(path) : null)
  if (stats === null) throw new Error(`the directory of the audit log is gone: ${path}`)
  if (!stats.isDirectory()) throw new Error(`not a directory, or a link to one: ${path}`)
}

async function makeFolder(path: string): Promise<Stats | null> {
  await mkdir(path, { mode: 0o700 })
  await syncDirectory(dirname(path))
  return statsOf(path)
}

/** What stands at a path, itself and not what a link leads to; null = nothing. */
export async function statsOf(path: string): Promise<Stats | null> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

/** The names of the files in a directory. A link is not ours, and a folder is no file, whatever its name. @throws Error of node:fs */
export async function fileNames(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
