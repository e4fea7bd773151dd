// Files of the log that retention removed before they were read (contract 22.3).
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogFile } from './position.ts'

/** Bytes of a line, until lines were read. */
const TYPICAL_LINE_BYTES = 1024

const MOST_KNOWN = 10_000

/** Counts events that went unread: of a file that is gone their number follows from its size. */
export class UnreadFiles {
  /** Bytes of the backups ahead, of their text where they are compressed, by the time in their names. */
  readonly #ahead = new Map<number, number>()
  /** The times of backups that were ahead once, the latest ones: each is counted once. */
  readonly #known = new Set<number>()
  #lost = 0
  #lines = 0
  #bytes = 0

  /** Compares the files that are not read yet with those at the last time. */
  async survey(directory: string, files: readonly LogFile[]): Promise<void> {
    const times = new Set(files.map(({ atMs }) => atMs))
    for (const [atMs, bytes] of this.#ahead) {
      if (times.has(atMs)) continue
      this.#ahead.delete(atMs)
      this.#isGone(bytes)
    }
    for (const file of files) {
      if (file.atMs === null || this.#ahead.has(file.atMs)) continue
      const bytes = await textBytes(join(directory, file.name), file).catch(() => null)
      // One that was removed since is told by who did that, or was seen by nobody.
      if (bytes === null) continue
      this.#ahead.set(file.atMs, bytes)
      this.#isKnown(file.atMs)
    }
  }

  /** A backup is being removed, and was not opened. @param bytes of its text */
  isDropped(atMs: number, bytes: number): void {
    // One that is known and no longer ahead was missed by a survey already, or opened before.
    if (!this.#ahead.delete(atMs) && this.#known.has(atMs)) return
    this.#isKnown(atMs)
    this.#isGone(bytes)
  }

  /** The file is being read now: what becomes of its name does not matter. */
  isOpened({ atMs }: LogFile): void {
    for (const other of this.#ahead.keys())
      if (atMs === null || other <= atMs) this.#ahead.delete(other)
  }

  /** What is ahead is passed over on purpose. */
  forget(): void {
    this.#ahead.clear()
  }

  isRead(bytes: number): void {
    this.#lines += 1
    this.#bytes += bytes
  }

  isLost(events: number): void {
    this.#lost += events
  }

  take(): number {
    const lost = this.#lost
    this.#lost = 0
    return lost
  }

  #isKnown(atMs: number): void {
    this.#known.add(atMs)
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.values().next().value ?? 0)
  }

  #isGone(bytes: number): void {
    this.isLost(Math.max(1, Math.round(bytes / this.#lineBytes())))
  }

  #lineBytes(): number {
    return this.#lines === 0 ? TYPICAL_LINE_BYTES : this.#bytes / this.#lines
  }
}

/** The size of a file of the log, of its text where it is compressed. @throws Error of node:fs */
export async function textBytes(
  path: string,
  { isCompressed }: Pick<LogFile, 'isCompressed'>,
): Promise<number> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    return isCompressed ? await sizeInTrailer(handle, size) : size
  } finally {
    await handle.close()
  }
}

/** A gzip file ends with the size of its text. */
async function sizeInTrailer(handle: FileHandle, size: number): Promise<number> {
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, Math.max(0, size - 4))
  return buffer.readUInt32LE()
}
