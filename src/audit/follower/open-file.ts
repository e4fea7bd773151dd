// A file of the audit log that is read line by line, whatever becomes of its name meanwhile (contract 22.3).
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { type CutLine, LineCutter } from '../files/line-cutter.ts'
import type { LogFile } from './position.ts'

const CHUNK_BYTES = 256 * 1024

/** How much of the first line tells a file from all others: its auditID stands there. */
const HEAD_BYTES = 1024

const LINE_FEED = 0x0a

/** The digest of the first line in these bytes, the first of a file. */
function headDigest(bytes: Buffer): string {
  const end = bytes.subarray(0, HEAD_BYTES).indexOf(LINE_FEED)
  const head = bytes.subarray(0, end === -1 ? HEAD_BYTES : end)
  return createHash('sha256').update(head).digest('base64url')
}

/** The bytes of a file from its beginning on; null = at its end, for now. */
interface ByteSource {
  readonly next: () => Promise<Buffer | null>
  readonly end: () => void
}

/** The file changed where it was read before: reading starts again at its beginning. */
export class FileChangedError extends Error {
  override readonly name = 'FileChangedError'
}

/** An open file of the log. */
export class OpenLogFile {
  readonly file: LogFile
  readonly #handle: FileHandle
  readonly #source: ByteSource
  readonly #cutter = new LineCutter()
  /** The first bytes, as far as they are needed. */
  #beginning: Buffer = Buffer.alloc(0)
  #offset = 0

  constructor(file: LogFile, handle: FileHandle) {
    this.file = file
    this.#handle = handle
    this.#source = file.isCompressed ? decompressed(handle) : plain(handle)
  }

  /** Its identity, whatever its name. */
  identity(): Promise<{ readonly dev: bigint; readonly ino: bigint }> {
    return this.#handle.stat({ bigint: true })
  }

  /** Digest of its first line; of another text when that line is not whole yet. */
  get head(): string {
    return headDigest(this.#beginning)
  }

  /** Bytes of the lines that `nextLine` returned. */
  get offset(): number {
    return this.#offset
  }

  /** Reads as much as tells the file from others. */
  async readHead(): Promise<string> {
    while (!hasHead(this.#beginning) && (await this.#fill())) continue
    return this.head
  }

  /** Skips lines that were read before. @returns false when they don't end there: the file is another one */
  async skipTo(offset: number): Promise<boolean> {
    while (this.#offset < offset) if ((await this.nextLine()) === null) return false
    return this.#offset === offset
  }

  /** The next whole line; null = there is none yet. */
  async nextLine(): Promise<CutLine | null> {
    for (;;) {
      const line = this.#cutter.take()
      if (line !== null) return this.#taken(line)
      if (!(await this.#fill())) return null
    }
  }

  /** The last line of a file that no longer grows, when it has no line feed. */
  lastLine(): CutLine | null {
    const line = this.#cutter.takeRest()
    return line === null ? null : this.#taken(line)
  }

  async close(): Promise<void> {
    this.#source.end()
    await this.#handle.close()
  }

  #taken(line: CutLine): CutLine {
    this.#offset += line.bytes
    return line
  }

  async #fill(): Promise<boolean> {
    const bytes = await this.#source.next()
    if (bytes === null) return false
    if (!hasHead(this.#beginning))
      this.#beginning = Buffer.concat([this.#beginning, bytes.subarray(0, HEAD_BYTES)])
    this.#cutter.add(bytes)
    return true
  }
}

const hasHead = (bytes: Buffer): boolean => bytes.length >= HEAD_BYTES || bytes.includes(LINE_FEED)

/** Opens a file of the log. @throws Error of node:fs, ENOENT when it has another name by now */
export async function openLogFile(directory: string, file: LogFile): Promise<OpenLogFile> {
  const handle = await open(join(directory, file.name), constants.O_RDONLY | constants.O_NOFOLLOW)
  return new OpenLogFile(file, handle)
}

/**
 * The digest of the first line of a file; null = it is not there, or damaged.
 *
 * @throws Error of node:fs
 */
export async function headOf(directory: string, file: LogFile): Promise<string | null> {
  const opened = await openLogFile(directory, file).catch(nullWhenMissing)
  if (opened === null) return null
  try {
    return await opened.readHead()
  } catch (error) {
    if (!isDamage(error)) throw error
    return null
  } finally {
    await opened.close()
  }
}

/** Whether an archive is cut or damaged. */
export const isDamage = (error: unknown): boolean => codeOf(error).startsWith('Z_')

/** null for a file that is not there; anything else is thrown again. */
export const nullWhenMissing = (error: unknown): null => {
  if (codeOf(error) === 'ENOENT') return null
  throw error
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

/** Bytes before the offset that each read compares: the writer truncates the file after a failed write, and appends others. */
const TAIL_BYTES = 512

function plain(handle: FileHandle): ByteSource {
  let position = 0
  let tail = Buffer.alloc(0)
  return {
    next: async () => {
      const bytes = Buffer.allocUnsafe(CHUNK_BYTES)
      const { bytesRead } = await handle.read(bytes, 0, CHUNK_BYTES, position - tail.length)
      const read = bytes.subarray(0, bytesRead)
      if (!read.subarray(0, tail.length).equals(tail)) throw new FileChangedError()
      const fresh = read.subarray(tail.length)
      position += fresh.length
      tail = Buffer.from(read.subarray(-TAIL_BYTES))
      return fresh.length === 0 ? null : fresh
    },
    end: () => undefined,
  }
}

function decompressed(handle: FileHandle): ByteSource {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  const file = handle.createReadStream({ autoClose: false, highWaterMark: CHUNK_BYTES })
  file.on('error', (error) => gunzip.destroy(error))
  const chunks = file.pipe(gunzip)[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  return {
    next: async () => {
      const { done, value } = await chunks.next()
      return done === true ? null : value
    },
    end: () => {
      file.destroy()
      gunzip.destroy()
    },
  }
}
