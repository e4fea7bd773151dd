// Files that provider settings name (contract 25.6). They lie in the directory of `--files-dir`, which an administrator
// mounts: a setting reaches no other file of this process, and no error quotes one.
import { open, realpath } from 'node:fs/promises'
import { isAbsolute, sep } from 'node:path'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { OPEN_TO_READ } from '../../runtime/kept-file.ts'

const MAX_BYTES = 1024 * 1024

/** A setting that names a file. */
interface FileSetting {
  /** Name of the field, such as `caFile`. */
  readonly field: string
  readonly path: string
}

/** The text of a file, as readProviderBytes reads it. */
export const readProviderFile = async (
  file: FileSetting,
  directory: string | null,
): Promise<string> => (await readProviderBytes(file, directory)).toString('utf8')

/**
 * The bytes of a file. It is read at each call, so that a changed file takes effect.
 *
 * @param directory of `--files-dir`; null = the flag is absent
 * @throws SignInRefused `provider_unusable`, with the field and the path
 */
export async function readProviderBytes(
  { field, path }: FileSetting,
  directory: string | null,
): Promise<Buffer> {
  const refused = (fault: string): SignInRefused =>
    new SignInRefused('provider_unusable', `${field} ${path} ${fault}`, { detail: field })
  if (directory === null) throw refused('cannot be read without --files-dir')
  if (!isAbsolute(path)) throw refused('is not an absolute path')
  const [real, root] = await Promise.all([path, directory].map(resolved))
  if (real === undefined || root === undefined) throw refused('cannot be read')
  if (!real.startsWith(root.endsWith(sep) ? root : root + sep))
    throw refused('is not in the directory of --files-dir')
  return contentOf(real).catch((error) => {
    throw refused(error instanceof FileFault ? error.message : 'cannot be read')
  })
}

const resolved = (path: string): Promise<string | undefined> =>
  realpath(path).catch(() => undefined)

class FileFault extends Error {}

async function contentOf(path: string): Promise<Buffer> {
  // The path is resolved: a link there is newer, and is not followed.
  await using file = await open(path, OPEN_TO_READ)
  const found = await file.stat()
  if (!found.isFile()) throw new FileFault('is not a file')
  if (found.size > MAX_BYTES) throw new FileFault('has more than 1 MiB')
  // One byte more than allowed shows that the file has grown meanwhile.
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0)
  if (bytesRead > MAX_BYTES) throw new FileFault('has more than 1 MiB')
  return buffer.subarray(0, bytesRead)
}
