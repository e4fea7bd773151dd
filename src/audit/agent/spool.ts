// What an agent has not sent of its log (contract 23.1): the files behind the position of its sender.
import { lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileNames } from '../files/directory.ts'
import { overflowOf, type Spool, type UnsentFile, type WhenSpoolFull } from '../files/spool.ts'
import { headOf } from '../follower/open-file.ts'
import { filesFrom, type LogFile, type LogPosition } from '../follower/position.ts'
import { textBytes } from '../follower/unread-files.ts'

/** The bounds of a spool. */
export interface SpoolLimits {
  /** The most bytes that are unsent, as they stand on the disk. */
  readonly limitBytes: number
  readonly whenFull: WhenSpoolFull
}

/** A file of the log, or the rest of it, that was not sent. */
interface UnsentLogFile extends LogFile, UnsentFile {}

/** A backup that was removed, or is about to be, before it was sent. */
interface DroppedBackup {
  readonly atMs: number
  /** Unsent bytes of its text. */
  readonly textBytes: number
}

/** The most attempts to see the same files twice, while rotation changes them. */
const MOST_LOOKS = 5

/** The spool of a directory. */
export class AuditSpool implements Spool {
  readonly whenFull: WhenSpoolFull
  readonly limitBytes: number
  readonly #folder: string
  #position: LogPosition | null = null
  #isCounted = true
  /** Unsent bytes at the last look, and bytes that were appended since it began. */
  #seenBytes = 0
  #appendedBytes = 0
  /** Sizes of backups by name: they don't change. */
  #sizes: ReadonlyMap<string, number> = new Map()
  #looking: Promise<unknown> = Promise.resolve()
  #dropped: DroppedBackup[] = []

  constructor(folder: string, { limitBytes, whenFull }: SpoolLimits) {
    this.#folder = folder
    this.limitBytes = limitBytes
    this.whenFull = whenFull
  }

  /** Bytes that are unsent, with all that was appended: never fewer than there are. */
  get unsentBytes(): number {
    return this.#isCounted ? this.#seenBytes + this.#appendedBytes : 0
  }

  readonly appended = (bytes: number): void => {
    this.#appendedBytes += bytes
  }

  /** The platform has everything before this position. */
  sentUntil(position: LogPosition): void {
    this.#position = position
  }

  /** Whether anything has to be sent: else nothing counts as unsent. */
  count(isCounted: boolean): void {
    this.#isCounted = isCounted
  }

  /** Looks at the files, one look at a time; each begins after the call. */
  readonly unsentFiles = (): Promise<readonly UnsentLogFile[]> => {
    const look = this.#looking.then(() => this.#look())
    this.#looking = look.catch(() => undefined)
    return look
  }

  readonly makeRoom = async (): Promise<void> => {
    if (this.whenFull !== 'drop') return
    for (const file of overflowOf(await this.unsentFiles(), this.limitBytes)) await this.#drop(file)
    await this.unsentFiles()
  }

  async #drop({ name, atMs, isCompressed, bytes }: UnsentLogFile): Promise<void> {
    const path = join(this.#folder, name)
    const [size, text] = await Promise.all([sizeOf(path), textBytes(path, { isCompressed })])
    const textRest = size === 0 ? 0 : Math.round((text * bytes) / size)
    // Before anybody can miss it.
    if (atMs !== null) this.#dropped.push({ atMs, textBytes: textRest })
    await rm(path, { force: true })
    // An archive that a crash left beside it is the same backup.
    if (!isCompressed) await rm(`${path}.gz`, { force: true })
  }

  /** The backups that were removed since the last call, oldest first. */
  takeDropped(): readonly DroppedBackup[] {
    const dropped = this.#dropped
    this.#dropped = []
    return dropped
  }

  async #look(): Promise<readonly UnsentLogFile[]> {
    for (let looks = 1; ; looks += 1) {
      const appendedBytes = this.#appendedBytes
      const position = this.#position
      const files = await this.#files(position)
      const sizes = await this.#sizesOf(files)
      const unsent: UnsentLogFile[] = []
      for (const file of files) {
        const size = sizes.get(file.name) ?? 0
        const isBegun = file === files[0] && position !== null
        const bytes = isBegun ? await this.#restOf(file, size, position) : size
        if (bytes > 0) unsent.push({ ...file, bytes })
      }
      // A file that rotation made meanwhile would be missing.
      if (looks < MOST_LOOKS && namesOf(await this.#files(position)) !== namesOf(files)) continue
      this.#seenBytes = unsent.reduce((sum, { bytes }) => sum + bytes, 0)
      // Lines that were appended during the look count once more: the look may have missed them.
      this.#appendedBytes -= appendedBytes
      return this.#isCounted ? unsent : []
    }
  }

  async #files(position: LogPosition | null): Promise<readonly LogFile[]> {
    const names = await fileNames(this.#folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    })
    return filesFrom(names, position)
  }

  async #sizesOf(files: readonly LogFile[]): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map<string, number>()
    for (const { name, atMs } of files) {
      const known = atMs === null ? undefined : this.#sizes.get(name)
      sizes.set(name, known ?? (await sizeOf(join(this.#folder, name))))
    }
    this.#sizes = sizes
    return sizes
  }

  /** The unsent bytes of the first file: the position may be within it. */
  async #restOf(file: LogFile, bytes: number, { head, offset }: LogPosition): Promise<number> {
    if ((await headOf(this.#folder, file)) !== head) return bytes
    const text = await textBytes(join(this.#folder, file.name), file).catch(() => 0)
    return text === 0 ? bytes : Math.ceil(bytes * Math.max(0, 1 - offset / text))
  }
}

const namesOf = (files: readonly LogFile[]): string => files.map(({ name }) => name).join()

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** 0 for a file that is gone. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await lstat(path)).size
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0
    throw error
  }
}
