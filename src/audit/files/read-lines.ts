// Lines of a file, compressed or not, read in pieces: a line of any length takes a bounded memory (contract 22.4).
import { open } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { stringOf } from '../../domain/json/json.ts'

/** A file that is read, whatever becomes of its name. */
export interface OpenedFile {
  readonly path: string
  /** Closes the file at its end, at an error, and when its reader leaves. */
  readonly bytes: AsyncIterable<Buffer>
}

const CHUNK_BYTES = 256 * 1024

/** Opens a file; the bytes of one whose name ends with `.gz` are decompressed. @throws Error of node:fs */
export async function openToRead(path: string): Promise<OpenedFile> {
  const handle = await open(path, 'r')
  const file = handle.createReadStream({ highWaterMark: CHUNK_BYTES })
  if (!path.endsWith('.gz')) return { path, bytes: file }
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  file.on('error', (error) => gunzip.destroy(error))
  gunzip.on('close', () => file.destroy())
  return { path, bytes: file.pipe(gunzip) }
}

/** Whether a file isn't there. */
export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT'

/** That a file can't be read, in words, with the code of the cause such as EACCES. */
export const unreadable = (path: string, error: unknown): string =>
  `${path} could not be read to its end: ${codeOf(error) ?? 'it failed'}`

const codeOf = (error: unknown): string | undefined =>
  stringOf((error as NodeJS.ErrnoException).code)

const LINE_FEED = 0x0a

/** Longer than any line of the audit log, whose bodies are bounded; in bytes. */
const LONGEST_LINE = 16 * 1024 * 1024

/** A line without its line feed; null = it is longer than LONGEST_LINE. */
type BoundedLine = Buffer | null

/**
 * The lines of a stream of bytes, a chunk at a time. A last line without line feed is one too.
 *
 * @throws as the stream does
 */
export async function* linesOf(
  stream: AsyncIterable<Buffer>,
): AsyncGenerator<readonly BoundedLine[]> {
  const rest = new OpenLine()
  for await (const chunk of stream) {
    const lines: BoundedLine[] = []
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      rest.add(chunk.subarray(from, end))
      lines.push(rest.end())
      from = end + 1
    }
    rest.add(chunk.subarray(from))
    if (lines.length > 0) yield lines
  }
  const last = rest.end()
  if (last === null || last.length > 0) yield [last]
}

/** The line that is being read. */
class OpenLine {
  #pieces: Buffer[] = []
  #bytes = 0

  add(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes > LONGEST_LINE) this.#pieces = []
    else if (piece.length > 0) this.#pieces.push(piece)
  }

  end(): BoundedLine {
    const line = this.#bytes > LONGEST_LINE ? null : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#bytes = 0
    return line
  }
}
