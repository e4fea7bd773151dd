// The file that lines are appended to: whole batches only, whatever fails (contract 22.1).
import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { type Identity, identityOf, isSameFile } from './identity.ts'

/** Where a file is that was opened at a path. */
export type Whereabouts =
  | { readonly kind: 'inPlace'; readonly bytes: number }
  /** It has another name, or stood below a directory that has. */
  | { readonly kind: 'renamed' }
  | { readonly kind: 'removed' }

const LINE_FEED = 0x0a

// For reading too: of the last byte. A link is refused, and no pipe makes the opening wait.
const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
const FLAGS = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK

/** An open file of lines. */
export class AuditFile {
  readonly #path: string
  readonly #handle: FileHandle
  readonly #identity: Identity
  /** Where the whole lines end, while a piece of a batch behind them could not be taken back; null = at the end. */
  #intactBytes: number | null = null

  private constructor(path: string, handle: FileHandle, identity: Identity) {
    this.#path = path
    this.#handle = handle
    this.#identity = identity
  }

  /** Opens a file, or makes it; a torn last line, which a crash left, gets its line feed. @throws Error if it is none */
  static async open(path: string): Promise<AuditFile> {
    const handle = await open(path, FLAGS, 0o600)
    try {
      if (!(await handle.stat()).isFile()) throw new Error(`${path} is not a file`)
      await closeTornLine(handle)
      return new AuditFile(path, handle, await identityOf(handle))
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Where it is now: others may remove and rename it. */
  async whereabouts(): Promise<Whereabouts> {
    const found = await lstat(this.#path, { bigint: true }).catch(() => null)
    if (found !== null && isSameFile(found, this.#identity))
      return { kind: 'inPlace', bytes: Number(found.size) }
    const { nlink } = await this.#handle.stat()
    return { kind: nlink === 0 ? 'removed' : 'renamed' }
  }

  /**
   * Appends whole lines by one write. Nothing of them stays when that fails, now or before the next write.
   *
   * @param fileBytes what the file has
   * @param isSynced whether the disk has them at the end, not the kernel alone
   */
  async append(lines: Buffer, fileBytes: number, isSynced: boolean): Promise<void> {
    try {
      const { bytesWritten } = await this.#handle.write(lines, 0, lines.length)
      if (bytesWritten < lines.length)
        throw new Error(`there was room for ${bytesWritten} of ${lines.length} bytes`)
      if (isSynced) await this.#handle.datasync()
    } catch (error) {
      this.#intactBytes = fileBytes
      // What fails here is tried again before the next write.
      await this.repair().catch(() => undefined)
      throw error
    }
  }

  /** Takes back what a failed write left. @throws Error when it can't be taken back yet */
  async repair(): Promise<void> {
    if (this.#intactBytes === null) return
    const { size } = await this.#handle.stat()
    if (size > this.#intactBytes) await this.#handle.truncate(this.#intactBytes)
    // Others may have made it shorter, in the midst of a line.
    await closeTornLine(this.#handle)
    this.#intactBytes = null
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

async function closeTornLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat()
  if (size === 0) return
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  if (buffer[0] !== LINE_FEED) await handle.appendFile('\n')
}
