// Whether the file that a process has open is still the one at its path.
import { type FileHandle, lstat } from 'node:fs/promises'

/** A file, whatever its name: inodes may be longer than a number is exact. */
export interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

/** The file at a path, a link itself; null = none. */
export async function identityAt(path: string): Promise<Identity | null> {
  return lstat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

/** The file of a handle. */
export const identityOf = (handle: FileHandle): Promise<Identity> => handle.stat({ bigint: true })

/** Whether both are one file. */
export const isSameFile = (one: Identity | null, other: Identity | null): boolean =>
  one !== null && other !== null && one.dev === other.dev && one.ino === other.ino
