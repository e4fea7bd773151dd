// Lines of an audit log in their order, over all of its files, from a position on (contract 22.3).
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { AUDIT_FILE } from '../files/backups.ts'
import { fileNames } from '../files/directory.ts'
import { MOST_BYTES, MOST_LINES } from '../store/write-events.ts'
import {
  FileChangedError,
  headOf,
  isDamage,
  nullWhenMissing,
  openLogFile,
  type OpenLogFile,
} from './open-file.ts'
import { afterOf, filesFrom, type LogFile, type LogPosition } from './position.ts'
import { UnreadFiles } from './unread-files.ts'

/** Lines that are read. */
export interface ReadLines {
  /** null = a line that is too long. */
  readonly lines: readonly (string | null)[]
  /** Where each line ends, as `offset` of a position: they are all of one file. */
  readonly ends: readonly number[]
  /** Behind them. */
  readonly position: LogPosition
}

/** How much is read at once. */
interface ReadLimits {
  readonly lines: number
  /** Reading ends with the line that reaches them. */
  readonly bytes: number
}

/** Reads one directory. */
export class LogReader {
  readonly #directory: string
  readonly #limits: ReadLimits
  readonly #unread = new UnreadFiles()
  #position: LogPosition | null
  #open: OpenLogFile | null = null
  #afterMs: number | null = null
  /** The time in the name that the open file has, or got by rotation; null = none at the last survey. */
  #openAtMs: number | null = null
  /** Whether the file of the position was read to its end, and no longer grows. */
  #isFinished = false

  /** @param position null = everything is read */
  constructor(directory: string, position: LogPosition | null, limits: ReadLimits = STORE_LIMITS) {
    this.#directory = directory
    this.#position = position
    this.#limits = limits
  }

  /** Estimates how many events were removed before they were read, since the last call. */
  takeUnread(): number {
    return this.#unread.take()
  }

  /** Looks which files there are, so that those that go unread are known. */
  async survey(): Promise<void> {
    const files = await this.#files()
    if (this.#open !== null)
      this.#openAtMs ??= files.find(({ atMs }) => atMs !== null)?.atMs ?? null
    const openAtMs = this.#openAtMs ?? Number.NEGATIVE_INFINITY
    await this.#unread.survey(
      this.#directory,
      files.filter(({ atMs }) => atMs === null || atMs > openAtMs),
    )
  }

  /**
   * Tells it of a backup that is being removed, the oldest one first.
   *
   * @param bytes of its text that are unread
   */
  isDropped(atMs: number, bytes: number): void {
    // The open file is read on. It may have become a backup since the last survey: then the oldest one.
    if (this.#open !== null && (this.#openAtMs ??= atMs) === atMs) return
    this.#unread.isDropped(atMs, bytes)
  }

  /**
   * The next lines, as many as a batch may have; null = there are none now.
   *
   * @throws Error of node:fs
   */
  async next(): Promise<ReadLines | null> {
    const lines: (string | null)[] = []
    const ends: number[] = []
    let bytes = 0
    while (lines.length < this.#limits.lines && bytes < this.#limits.bytes) {
      const line = await this.#nextLine()
      if (line === 'end') break
      // A batch is of one file: its position is behind its last line.
      if (line === 'file') {
        if (lines.length > 0) break
        continue
      }
      lines.push(line.text)
      ends.push(this.#open?.offset ?? 0)
      bytes += line.bytes
    }
    return lines.length === 0 || this.#position === null
      ? null
      : { lines, ends, position: this.#position }
  }

  /**
   * Passes over everything that is there, which does not count as unread.
   *
   * @returns the position behind it; null = nothing was ever there
   * @throws Error of node:fs
   */
  async skipToEnd(): Promise<LogPosition | null> {
    const afterMs = (await this.#files()).findLast(({ atMs }) => atMs !== null)?.atMs
    if (afterMs !== undefined && afterMs !== null) {
      // Backups are not read for it: they may have gigabytes.
      await this.close()
      this.#position = { ...NOWHERE, afterMs }
    }
    this.#unread.forget()
    while ((await this.next()) !== null) await setImmediate()
    return this.#position
  }

  async close(): Promise<void> {
    await this.#open?.close()
    this.#open = null
  }

  /** The next line; `file` where another file goes on; `end` where there is none. */
  async #nextLine(): Promise<
    { readonly text: string | null; readonly bytes: number } | 'file' | 'end'
  > {
    const open = (this.#open ??= await this.#openNext())
    if (open === null) return 'end'
    try {
      const line = (await open.nextLine()) ?? (await this.#lastLine(open))
      if (line === 'end') return 'end'
      if (line === null) {
        await this.#finish(open)
        return 'file'
      }
      this.#position = { head: open.head, offset: open.offset, afterMs: this.#afterMs }
      this.#unread.isRead(line.bytes)
      return line
    } catch (error) {
      return this.#leave(open, error)
    }
  }

  /** What stands behind the last line feed of a file that no longer grows; null = nothing. */
  async #lastLine(open: OpenLogFile) {
    if (open.file.atMs === null && !(await this.#isReplaced(open))) return 'end' as const
    // What was written between the last reading and its rotation.
    return (await open.nextLine()) ?? open.lastLine()
  }

  /** Whether another file has the name of the one that lines were appended to. */
  async #isReplaced(open: OpenLogFile): Promise<boolean> {
    const there = await lstat(join(this.#directory, AUDIT_FILE), { bigint: true }).catch(() => null)
    if (there === null) return false
    const { dev, ino } = await open.identity()
    return there.dev !== dev || there.ino !== ino
  }

  async #finish(open: OpenLogFile): Promise<void> {
    // By now it has the name of a backup, which is not one that goes unread.
    await this.survey()
    this.#isFinished = true
    await this.close()
    // An empty file has no head by which it is found.
    if (open.offset > 0 || open.file.atMs === null) return
    this.#position = { ...(this.#position ?? NOWHERE), afterMs: open.file.atMs }
  }

  /** A file that can't be read further: one that changed is read again, a damaged archive is passed over. */
  async #leave(open: OpenLogFile, error: unknown): Promise<'file'> {
    await this.close()
    if (error instanceof FileChangedError) {
      this.#position = { head: open.head, offset: 0, afterMs: this.#afterMs }
      this.#isFinished = false
      return 'file'
    }
    if (!isDamage(error)) throw error
    this.#unread.isLost(1)
    this.#position = { head: open.head, offset: open.offset, afterMs: this.#afterMs }
    this.#isFinished = true
    return 'file'
  }

  async #files(): Promise<readonly LogFile[]> {
    return filesFrom(await fileNames(this.#directory).catch(noNames), this.#position)
  }

  /** Opens the file of the position, or the one behind it. */
  async #openNext(): Promise<OpenLogFile | null> {
    const files = await this.#files()
    await this.survey()
    const place = await this.#placeOfPosition(files)
    if (place === -1) {
      // Removed before it was read to its end; how many lines it still had is not known.
      if (this.#position !== null && !this.#isFinished) this.#unread.isLost(1)
      this.#isFinished = true
    }
    const next = this.#isFinished ? place + 1 : place
    const file = files[next]
    if (file === undefined) return null
    const open = await this.#opened(file, files)
    if (open === null) return null
    this.#afterMs = afterOf(files, next, this.#position)
    const { head, offset } = this.#position ?? { head: '', offset: 0 }
    if (!this.#isFinished && !(await open.skipTo(offset))) {
      await open.close()
      this.#position = { head, offset: 0, afterMs: this.#afterMs }
      return null
    }
    this.#isFinished = false
    this.#openAtMs = file.atMs
    this.#unread.isOpened(file)
    return open
  }

  /** Opens a file; null when rotation moved it meanwhile. */
  async #opened(file: LogFile, files: readonly LogFile[]): Promise<OpenLogFile | null> {
    const open = await openLogFile(this.#directory, file).catch(nullWhenMissing)
    if (open === null || file.atMs !== null) return open
    // A backup that was made meanwhile is before it.
    if (namesOf(await this.#files()) === namesOf(files)) return open
    await open.close()
    return null
  }

  /** Where the file of the position is among these; -1 = nowhere. */
  async #placeOfPosition(files: readonly LogFile[]): Promise<number> {
    if (this.#position === null || this.#position.head === NOWHERE.head) {
      this.#isFinished = true
      return -1
    }
    for (const [place, file] of files.entries())
      if ((await headOf(this.#directory, file)) === this.#position.head) return place
    return -1
  }
}

/** The limits of a batch for the data store. */
const STORE_LIMITS: ReadLimits = { lines: MOST_LINES, bytes: MOST_BYTES }

/** A position from which everything is read that is behind `afterMs`. */
const NOWHERE: LogPosition = { head: '', offset: 0, afterMs: null }

const namesOf = (files: readonly LogFile[]): string => files.map(({ name }) => name).join()

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

/** A directory that is not there yet has no files. */
const noNames = (error: unknown): readonly string[] => {
  if (codeOf(error) === 'ENOENT') return []
  throw error
}
