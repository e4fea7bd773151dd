// Where a follower goes on in the files of an audit log, whatever rotation and compression made of their names. Pure.
import { fieldsOf, parseJson } from '../../domain/json/json.ts'
import { AUDIT_FILE, backupOf } from '../files/backups.ts'

/** How far the files are read. */
export interface LogPosition {
  /** Digest of the first line of the file, by which it is found under another name; empty = no file behind `afterMs` is begun. */
  readonly head: string
  /** Bytes of it that are read, of its text where it is compressed. */
  readonly offset: number
  /** The time in the name of the newest backup before it, in epoch milliseconds; null = there was none. */
  readonly afterMs: number | null
}

/** A file of the log. */
export interface LogFile {
  readonly name: string
  /** The time in its name; null = lines are appended to it. */
  readonly atMs: number | null
  readonly isCompressed: boolean
}

/** The position as text, for the store. */
export const positionText = ({ head, offset, afterMs }: LogPosition): string =>
  JSON.stringify({ head, offset, afterMs })

/** The position of a text; null = it is none, and everything is read again. */
export function parsePosition(text: string): LogPosition | null {
  const { head, offset, afterMs } = fieldsOf(parseJson(text))
  if (typeof head !== 'string' || !isWhole(offset) || (afterMs !== null && !isWhole(afterMs)))
    return null
  return { head, offset, afterMs }
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value)

/**
 * The files of the log that are not known to be read, oldest first. A backup that stands beside its `.gz` is one file.
 *
 * @param names of all files in the directory
 */
export function filesFrom(
  names: readonly string[],
  position: Pick<LogPosition, 'afterMs'> | null,
): readonly LogFile[] {
  const afterMs = position?.afterMs ?? Number.NEGATIVE_INFINITY
  const backups = new Map<number, LogFile>()
  for (const name of names) {
    const backup = backupOf(name)
    if (backup === null || backup.atMs <= afterMs) continue
    if (!backup.isCompressed || !backups.has(backup.atMs)) backups.set(backup.atMs, backup)
  }
  const sorted = [...backups.values()].toSorted((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0))
  const live = { name: AUDIT_FILE, atMs: null, isCompressed: false }
  return names.includes(AUDIT_FILE) ? [...sorted, live] : sorted
}

/** The time of the newest backup before this place; else where the position begins. */
export const afterOf = (
  files: readonly LogFile[],
  place: number,
  position: Pick<LogPosition, 'afterMs'> | null,
): number | null => files[place - 1]?.atMs ?? position?.afterMs ?? null
