// Backups of the audit log: their names and how long they stay, as lumberjack has it, so that tools that know the audit files of
// Kubernetes know these (contract 22.1). Pure.
import { formatTimestamp } from '../../domain/time.ts'

/** The file that lines are appended to. */
export const AUDIT_FILE = 'audit.log'

const DAY_MS = 86_400_000
/** The last time that a name can say. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Only names of this form are ever touched. */
const BACKUP_NAME = /^audit-(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})\.(\d{3})\.log(\.gz)?$/

/** A backup, by its name. */
export interface Backup {
  readonly name: string
  /** When it was made, in epoch milliseconds; later than that where the clock was set back before. */
  readonly atMs: number
  readonly isCompressed: boolean
}

/** The name of a backup that is made now, such as `audit-2026-11-28T19-30-00.000.log`. */
function backupName(nowMs: number): string {
  const [day = '', time = ''] = formatTimestamp(nowMs).replace('Z', '').split('T')
  const [seconds = '', fraction = '000'] = time.replaceAll(':', '-').split('.')
  return `audit-${day}T${seconds}.${fraction}.log`
}

/** The backup of this name; null = the file is no backup. */
export function backupOf(name: string): Backup | null {
  const [, day, hours, minutes, seconds, fraction, gz] = BACKUP_NAME.exec(name) ?? []
  const atMs = Date.parse(`${day}T${hours}:${minutes}:${seconds}.${fraction}Z`)
  return Number.isNaN(atMs) ? null : { name, atMs, isCompressed: gz !== undefined }
}

/** The name of an archive until it is whole. @param backup the name or path of its backup */
export const archiveInTheMakingOf = (backup: string): string => `${backup}.gz${MAKING}`

const MAKING = '.tmp'

/** Archives that a crash left in the making. @param names of all files in the directory */
export const abandonedArchives = (names: readonly string[]): readonly string[] =>
  names.filter(
    (name) => name.endsWith(MAKING) && backupOf(name.slice(0, -MAKING.length))?.isCompressed,
  )

/**
 * The name of a backup that is made now, behind all others: readers go by names, and pass over what is older than what they have
 * read. So a clock that was set back goes on a millisecond behind the newest name.
 *
 * @param names of all files in the directory
 */
export function freeBackupName(names: readonly string[], nowMs: number): string {
  const newestMs = names.reduce((newest, name) => {
    const { atMs } = backupOf(name) ?? { atMs: newest }
    return atMs < LAST_MS ? Math.max(newest, atMs) : newest
  }, Number.NEGATIVE_INFINITY)
  return backupName(Math.max(nowMs, newestMs + 1))
}

/** How long backups stay; from Config. */
export interface BackupRetention {
  /** 0 = all. */
  readonly maxBackups: number
  /** Days of 24 hours; 0 = no limit. */
  readonly maxAge: number
  readonly compress: boolean
}

/** The deeds on a directory of backups. */
interface BackupUpkeep {
  readonly remove: readonly string[]
  /** Backups that are replaced by their `.gz`. */
  readonly compress: readonly string[]
}

/**
 * What to do with the files of a directory. Age goes by names: a clock that was set back removes nothing too early. A backup and
 * its `.gz`, which a crash may leave side by side, are one backup.
 *
 * @param names of all files in the directory
 * @param unsent times of the backups that stay whatever the limits say; they count as others do
 */
export function backupUpkeep(
  names: readonly string[],
  { maxBackups, maxAge, compress }: BackupRetention,
  nowMs: number,
  unsent: ReadonlySet<number | null> = NONE_UNSENT,
): BackupUpkeep {
  const backups = names
    .flatMap((name) => backupOf(name) ?? [])
    .toSorted((one, other) => other.atMs - one.atMs)
  const kept = new Set<number>()
  const isKept = ({ atMs }: Backup): boolean => {
    const isUnsent = unsent.has(atMs)
    if (!isUnsent && maxAge > 0 && atMs < nowMs - maxAge * DAY_MS) return false
    kept.add(atMs)
    return isUnsent || maxBackups === 0 || kept.size <= maxBackups
  }
  const [staying, leaving] = partition(backups, isKept)
  return {
    remove: leaving.map(({ name }) => name),
    compress: compress
      ? staying.flatMap(({ name, isCompressed }) => (isCompressed ? [] : [name]))
      : [],
  }
}

const NONE_UNSENT: ReadonlySet<number> = new Set()

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  const parts: [T[], T[]] = [[], []]
  for (const item of items) parts[isFirst(item) ? 0 : 1].push(item)
  return parts
}
