// Lines in the files of a directory (contract 22.1): audit.log, and backups beside it.
//
// Every failure is an error of `open` or `append`, which the queue tries again each second, and so heals with its cause: a parent
// or volume that is mounted later, a directory that others make again, a full or read-only disk, no free descriptor, another
// process that ends. A directory that was there once is made by a change of the settings alone.
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../runtime/clock.ts'
import { syncDirectory } from '../../runtime/kept-file.ts'
import type { AuditSink, LogRetention } from '../audit-log.ts'
import { AuditFile, type Whereabouts } from './audit-file.ts'
import { AUDIT_FILE, freeBackupName } from './backups.ts'
import { checkDirectory, folderOf, type LogDirectory } from './directory.ts'
import { type DirectoryLock, lockDirectory } from './directory-lock.ts'
import { nextPortion } from './rotation.ts'
import { linesWithRoom, type Spool } from './spool.ts'
import { Upkeep } from './upkeep.ts'

/** Settings and dependencies of a directory sink. */
interface DirectorySinkOptions {
  readonly directory: LogDirectory
  readonly retention: LogRetention
  /** Whether a line counts as written only once the disk has it. */
  readonly isSynced: boolean
  /** null = nothing is sent elsewhere. */
  readonly spool: Spool | null
  readonly clock: Clock
  /** Called with the first failure to remove or compress backups, after a time without one. */
  readonly upkeepFailed: (cause: unknown) => void
}

const MIB = 1024 * 1024

/** How long a look after a batch spares one before the next, in milliseconds: each costs as much as a write. */
const LOOK_HOLDS_MS = 20

/** How often a file may be removed while a batch is written to it. */
const MOST_REMOVALS = 3

/** The sink of a directory; it has the directory for itself. */
export class DirectorySink implements AuditSink {
  readonly #options: DirectorySinkOptions
  readonly #folder: string
  readonly #upkeep: Upkeep
  #retention: LogRetention
  #wasOpened = false
  /** Whether the spool was full at the last look; before the first one it may have been. */
  #wasFull = true
  #makingDirectory: Promise<void> = Promise.resolve()
  #lock: DirectoryLock | null = null
  #file: AuditFile | null = null
  /** Where the file was after the last batch; null = that failed, or there was none. */
  #seen: { readonly where: Whereabouts; readonly untilMs: number } | null = null
  #underWay: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(options: DirectorySinkOptions) {
    const { directory, retention, spool, clock, upkeepFailed } = options
    this.#options = options
    this.#folder = folderOf(directory)
    this.#retention = retention
    this.#upkeep = new Upkeep({
      folder: this.#folder,
      retention: () => this.#retention,
      spool,
      isOurs: () => this.#lock !== null,
      clock,
      failed: upkeepFailed,
    })
  }

  /** @throws Error when directory, lock or file can't be had, or the spool is full */
  open(): Promise<void> {
    return this.#alone(async () => {
      await this.#reopen()
      this.#upkeep.start()
      this.#fitting([])
    })
  }

  /** Appends as many of the lines as fit into one file and the spool. @throws Error when none of them is in it */
  append(waiting: readonly string[]): Promise<number> {
    return this.#alone(async () => {
      const lines = this.#fitting(waiting)
      for (let removals = 0; removals <= MOST_REMOVALS; removals += 1) {
        const { file, bytes } = await this.#ready()
        const count = await this.#appendPortion(lines, file, bytes)
        const where = await this.#file?.whereabouts()
        // Lines in a file that was removed meanwhile are lost: they are written again.
        if (where?.kind === 'removed') continue
        if (where !== undefined)
          this.#seen = { where, untilMs: this.#options.clock.monotonicMs() + LOOK_HOLDS_MS }
        return count
      }
      throw new Error('others remove the file of the audit log again and again')
    })
  }

  changeRetention(retention: LogRetention): void {
    this.#retention = retention
    // Now, not when the next line comes: a directory that goes away between the two stays away.
    this.#makingDirectory = checkDirectory(this.#options.directory, true).catch(() => undefined)
    this.#upkeep.request()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#underWay, this.#makingDirectory, this.#upkeep.close()])
    await this.#file?.close()
    this.#lock?.release()
    this.#file = null
    this.#lock = null
  }

  async #alone<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error('the audit log is closed')
    const acting = act()
    this.#underWay = acting.catch(() => undefined)
    return acting
  }

  /** The file at its path, with whole lines alone. */
  async #ready(): Promise<{ readonly file: AuditFile; readonly bytes: number }> {
    await this.#file?.repair()
    const where = await this.#look()
    this.#seen = null
    if (this.#file !== null && where?.kind === 'inPlace')
      return { file: this.#file, bytes: where.bytes }
    const file = await this.#reopen()
    const opened = await file.whereabouts()
    return { file, bytes: opened.kind === 'inPlace' ? opened.bytes : 0 }
  }

  /** Where the file is; null = unknown, or the directory is no longer ours. A look after the last batch holds for a while. */
  async #look(): Promise<Whereabouts | null> {
    if (this.#seen !== null && this.#options.clock.monotonicMs() < this.#seen.untilMs)
      return this.#seen.where
    const [where, isLocked] = await Promise.all([
      this.#file?.whereabouts(),
      this.#lock?.isInPlace(),
    ])
    return isLocked === true ? (where ?? null) : null
  }

  async #appendPortion(lines: readonly string[], file: AuditFile, bytes: number): Promise<number> {
    const { isRotated, count } = nextPortion(
      lines.map((line) => Buffer.byteLength(line) + 1),
      bytes,
      this.#retention.maxSize * MIB,
    )
    const target = isRotated ? await this.#rotate() : file
    const text = lines.slice(0, count).map((line) => `${line}\n`)
    const content = Buffer.from(text.join(''))
    await target.append(content, isRotated ? 0 : bytes, this.#options.isSynced)
    this.#countUnsent(content.length)
    return count
  }

  /** The lines that the spool has room for. @throws Error when it is full */
  #fitting(lines: readonly string[]): readonly string[] {
    const { spool } = this.#options
    if (spool === null) return lines
    const count = linesWithRoom(lines, { spool, wasFull: this.#wasFull })
    this.#wasFull = count === null
    if (count !== null) return lines.slice(0, count)
    const { unsentBytes, limitBytes } = spool
    throw new Error(`the spool is full: ${unsentBytes} bytes of ${limitBytes} are not sent yet`)
  }

  /** Asks for room once more than the limit is unsent, and no more until there was room. */
  #countUnsent(bytes: number): void {
    const { spool } = this.#options
    if (spool === null) return
    const hadRoom = spool.unsentBytes <= spool.limitBytes
    spool.appended(bytes)
    if (hadRoom && spool.unsentBytes > spool.limitBytes) this.#upkeep.request()
  }

  /** Makes the present file a backup. A crash in between leaves no file, and the next start makes one. */
  async #rotate(): Promise<AuditFile> {
    const backup = freeBackupName(await readdir(this.#folder), this.#options.clock.nowMs())
    await rename(join(this.#folder, AUDIT_FILE), join(this.#folder, backup))
    const file = await this.#openFile()
    this.#upkeep.request()
    return file
  }

  async #reopen(): Promise<AuditFile> {
    await this.#closeFile()
    await checkDirectory(this.#options.directory, !this.#wasOpened)
    if ((await this.#lock?.isInPlace()) !== true) {
      this.#lock?.release()
      this.#lock = null
      this.#lock = await lockDirectory(this.#folder)
    }
    const file = await this.#openFile()
    this.#wasOpened = true
    return file
  }

  async #openFile(): Promise<AuditFile> {
    await this.#closeFile()
    this.#file = await AuditFile.open(join(this.#folder, AUDIT_FILE))
    // The disk has a line only once it has the name of its file.
    if (this.#options.isSynced) await syncDirectory(this.#folder)
    return this.#file
  }

  async #closeFile(): Promise<void> {
    const file = this.#file
    this.#file = null
    await file?.close()
  }
}
