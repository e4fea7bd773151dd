// What an agent has not sent of its log (contract 23.1): the files behind the position of its sender.
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Spool, UnsentFile, WhenSpoolFull } from '../files/spool.ts'
import { headOf } from '../follower/open-file.ts'
import { filesFrom, type LogFile, type LogPosition } from '../follower/position.ts'
import { textBytes } from '../follower/unread-files.ts'

/** The bounds of a spool. */
export interface SpoolLimits {
  /** The most bytes that are unsent, as they stand on the disk. */
  readonly limitBytes: number
  readonly whenFull: WhenSpoolFull
}

/** How often the files are looked at again when rotation changes them meanwhile. */
const MOST_LOOKS = 5

/** The spool of a directory. */
export class AuditSpool implements Spool {
  readonly whenFull: WhenSpoolFull
  readonly limitBytes: number
  readonly #folder: string
  #position: LogPosition | null = null
  #isCounted = true
  /** Unsent bytes at the last look, and what was appended since it began. */
  #seenBytes = 0
  #appendedBytes = 0
  /** Sizes of backups by name: they don't change. */
  #sizes: ReadonlyMap<string, number> = new Map()
  #looking: Promise<unknown> = Promise.resolve()

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

  /** What is before the position was sent. */
  sentUntil(position: LogPosition): void {
    this.#position = position
  }

  /** Whether anything has to be sent: else nothing counts as unsent. */
  count(isCounted: boolean): void {
    this.#isCounted = isCounted
  }

  /** Looks at the files, one look at a time; each begins after the call. */
  readonly unsentFiles = (): Promise<readonly UnsentFile[]> => {
    const look = this.#looking.then(() => this.#look())
    this.#looking = look.catch(() => undefined)
    return look
  }

  async #look(): Promise<readonly UnsentFile[]> {
    for (let looks = 1; ; looks += 1) {
      this.#appendedBytes = 0
      const position = this.#position
      const files = await this.#files(position)
      const sizes = await this.#sizesOf(files)
      const unsent: UnsentFile[] = []
      for (const file of files) {
        const bytes = sizes.get(file.name) ?? 0
        const isBegun = file === files[0] && position !== null
        const rest = isBegun ? await this.#restOf(file, bytes, position) : bytes
        if (rest > 0) unsent.push({ atMs: file.atMs, bytes: rest })
      }
      // A file that rotation made meanwhile would be missing.
      if (looks < MOST_LOOKS && namesOf(await this.#files(position)) !== namesOf(files)) continue
      this.#seenBytes = unsent.reduce((sum, { bytes }) => sum + bytes, 0)
      return this.#isCounted ? unsent : []
    }
  }

  async #files(position: LogPosition | null): Promise<readonly LogFile[]> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
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

  /** What is unsent of the first file: the position may be within it. */
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
