// The files of a log as a spool: what has to be sent elsewhere stays until it was (contract 23.1). The decisions are pure.

/** A file that was not sent to its end. */
export interface UnsentFile {
  /** The time in its name; null = lines are appended to it. */
  readonly atMs: number | null
  /** What is unsent of it, as it stands on the disk. */
  readonly bytes: number
}

/** What happens once the spool is full: lines are refused, or the oldest backups are removed. */
export type WhenSpoolFull = 'refuse' | 'drop'

/** What the sink of a log must know of its spool. */
export interface Spool {
  readonly whenFull: WhenSpoolFull
  /** The most bytes that are unsent. */
  readonly limitBytes: number
  /** Bytes that are unsent, with all that was appended. */
  readonly unsentBytes: number
  /** Lines of this many bytes were appended. */
  readonly appended: (bytes: number) => void
  /** The files that were not sent to their end, oldest first. @throws Error of node:fs */
  readonly unsentFiles: () => Promise<readonly UnsentFile[]>
  /** Removes the oldest backups that are beyond the limit, where that is what a full spool does. @throws Error of node:fs */
  readonly makeRoom: () => Promise<void>
}

/** The part of the limit that must be free before a full spool takes lines again. */
const FREE_AGAIN = 1 / 16

/** What linesWithRoom looks at. */
interface Room {
  readonly spool: Pick<Spool, 'whenFull' | 'limitBytes' | 'unsentBytes'>
  /** Whether it was full at the last look, or there was none: it would else open for a line, and fail at the next. */
  readonly wasFull: boolean
}

/**
 * How many of the lines the spool has room for, the first ones.
 *
 * @returns null when it is full
 */
export function linesWithRoom(lines: readonly string[], { spool, wasFull }: Room): number | null {
  const { whenFull, limitBytes, unsentBytes } = spool
  if (whenFull === 'drop') return lines.length
  if (wasFull && unsentBytes > limitBytes * (1 - FREE_AGAIN)) return null
  let bytes = unsentBytes
  const end = lines.findIndex((line) => (bytes += Buffer.byteLength(line) + 1) > limitBytes)
  if (end === 0) return null
  return end === -1 ? lines.length : end
}

/** The oldest backups that have to go, so that the rest is within the limit. @param files oldest first */
export function overflowOf<File extends UnsentFile>(
  files: readonly File[],
  limitBytes: number,
): readonly File[] {
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return files.filter((file) => {
    if (bytes <= limitBytes || file.atMs === null) return false
    bytes -= file.bytes
    return true
  })
}
