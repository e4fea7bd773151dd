// Lines of a file, compressed or not, read in pieces: a line of any length takes a bounded memory (contract 22.4).
import { open } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { stringOf } from '../../domain/json/json.ts'
import { type CutLine, LineCutter } from './line-cutter.ts'

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

/**
 * The lines of a stream of bytes, a chunk at a time. A last line without line feed is one too.
 *
 * @throws as the stream does
 */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<readonly CutLine[]> {
  const cutter = new LineCutter()
  for await (const chunk of stream) {
    cutter.add(chunk)
    const lines: CutLine[] = []
    for (let line = cutter.take(); line !== null; line = cutter.take()) lines.push(line)
    if (lines.length > 0) yield lines
  }
  const last = cutter.takeRest()
  if (last !== null) yield [last]
}
