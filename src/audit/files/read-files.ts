// Events read back from the files of the audit log, with no gateway and no data store (contract 22.4).
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { eventFieldsOf } from '../../domain/audit/event-fields.ts'
import { withoutBodies } from '../../domain/audit/event-list.ts'
import { NewestEvents } from '../../domain/audit/newest-events.ts'
import { type AuditQuery, matchesQuery } from '../../domain/audit/query.ts'
import { parseJson } from '../../domain/json/json.ts'
import { AUDIT_FILE, type Backup, backupOf } from './backups.ts'
import { type OpenedFile, isMissing, linesOf, openToRead, unreadable } from './read-lines.ts'

/** What was found in files. */
interface EventsInFiles {
  /** Each the JSON of an event, the newest stage time first; as many as the question allows, and there is room for. */
  readonly events: readonly string[]
  /** Whether the question means older events too. */
  readonly hasMore: boolean
  /** A sentence for each file that could not be read, in part or as a whole. */
  readonly faults: readonly string[]
}

/** Room for the texts of events, in characters. */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** How far an event of a backup may be newer than its name: an agent's clock may be ahead, and ours may have been set back. */
const CLOCK_TOLERANCE_MS = 3_600_000

/** A question while its files are read. */
interface Reading {
  readonly query: AuditQuery
  readonly newest: NewestEvents
  readonly faults: string[]
}

/**
 * Reads the events that a question means. Other lines are counted, and stop nothing.
 *
 * @param path a directory with `audit.log` and its backups, or a file
 * @throws Error when the path can't be read, or is a directory without any file of the audit log
 */
export async function readEvents(path: string, query: AuditQuery): Promise<EventsInFiles> {
  const newest = new NewestEvents({ count: query.limit, characters: MOST_CHARACTERS })
  const reading: Reading = { query, newest, faults: [] }
  const { current, backups } = await filesIn(path)
  if (current !== null) await readFile(current, reading)
  for (const { atMs, name } of backups) {
    const earliestMs = Math.max(query.interval.sinceMs ?? 0, newest.earliestMs ?? 0)
    if (atMs + CLOCK_TOLERANCE_MS >= earliestMs) await readBackup(join(path, name), reading)
  }
  return {
    events: newest.newestFirst(),
    hasMore: newest.hasDropped,
    faults: reading.faults,
  }
}

/** The files of a question. */
interface LogFiles {
  /** null = there are backups alone. */
  readonly current: OpenedFile | null
  /** The newest first. */
  readonly backups: readonly Backup[]
}

async function filesIn(path: string): Promise<LogFiles> {
  const isDirectory = await stat(path).then((found) => found.isDirectory())
  if (!isDirectory) return { current: await openToRead(path), backups: [] }
  // Opened before the backups are listed: where it is rotated meanwhile, its lines are read twice rather than never.
  const current = await openToRead(join(path, AUDIT_FILE)).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  const backups = backupsIn(await readdir(path))
  if (current === null && backups.length === 0)
    throw new Error(`${path} has no file of an audit log, such as ${AUDIT_FILE}`)
  return { current, backups }
}

/** The backups of these names, the newest first: of one and its `.gz`, which may be half made, the one. */
function backupsIn(names: readonly string[]): readonly Backup[] {
  const byTime = new Map<number, Backup>()
  for (const backup of names.flatMap((name) => backupOf(name) ?? []))
    if (!backup.isCompressed || !byTime.has(backup.atMs)) byTime.set(backup.atMs, backup)
  return [...byTime.values()].toSorted((one, other) => other.atMs - one.atMs)
}

/** Reads a backup, which may be compressed since its directory was listed. */
async function readBackup(path: string, reading: Reading): Promise<void> {
  try {
    const file = await openToRead(path).catch((error: unknown) => {
      if (isMissing(error) && !path.endsWith('.gz')) return openToRead(`${path}.gz`)
      throw error
    })
    await readFile(file, reading)
  } catch (error) {
    reading.faults.push(unreadable(path, error))
  }
}

async function readFile(file: OpenedFile, reading: Reading): Promise<void> {
  let lines = 0
  const unread = { count: 0, first: 0 }
  try {
    for await (const some of linesOf(file.bytes))
      for (const { text } of some) {
        lines += 1
        if (text !== null && (text === '' || readLine(text, reading))) continue
        unread.count += 1
        unread.first ||= lines
      }
  } catch (error) {
    reading.faults.push(unreadable(file.path, error))
  }
  const { count, first } = unread
  if (count === 0) return
  const what = count === 1 ? `1 line of ${file.path}` : `${count} lines of ${file.path}`
  reading.faults.push(`${what} could not be read, the first is line ${first}`)
}

/** Adds the event if the question means it. @returns false when it can't read an event from the line */
function readLine(text: string, { query, newest }: Reading): boolean {
  const fields = eventFieldsOf(parseJson(text))
  if (fields === null) return false
  if (matchesQuery(fields, query))
    newest.add(fields, () => (query.hasBodies ? text : withoutBodies(text)))
  return true
}
