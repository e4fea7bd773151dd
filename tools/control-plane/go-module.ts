// Files of other projects that are published with their Go modules, such as their CRDs.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Files of one version of a module. */
export interface ModuleFiles {
  /** `path@version`, as Go takes it. */
  readonly module: string
  /** Go's checksum of that version, so that its content can't change. */
  readonly sum: string
  /** Paths within the module. */
  readonly files: readonly string[]
}

/**
 * The paths of the files on this machine: in the module, which Go keeps in its cache.
 *
 * @param otherwise the way out without Go, such as `set VARIABLE to a folder`
 * @throws Error when Go is missing, can't get the module, or gets another than the one pinned
 */
export async function moduleFiles(
  { module, sum, files }: ModuleFiles,
  otherwise: string,
): Promise<readonly string[]> {
  const { Dir, Sum, Error: why } = await downloaded(module, otherwise)
  if (Dir === undefined) throw new Error(`go can't download ${module}: ${why}`)
  if (Sum !== sum) throw new Error(`${module} has the sum ${Sum}, not ${sum}`)
  const paths = files.map((file) => join(Dir, file))
  const missing = paths.filter((path) => !existsSync(path))
  if (missing.length > 0) throw new Error(`there is no ${missing.join(', ')}`)
  return paths
}

interface Download {
  readonly Dir?: string
  readonly Sum?: string
  readonly Error?: string
}

async function downloaded(module: string, otherwise: string): Promise<Download> {
  const env = { ...process.env, GOFLAGS: '', GOWORK: 'off' }
  const args = ['mod', 'download', '-json', module]
  try {
    // Runs in a folder without a go.mod, so that no other module decides on the version.
    const { stdout } = await promisify(execFile)('go', args, { cwd: tmpdir(), env })
    return JSON.parse(stdout) as Download
  } catch (cause) {
    const { stdout = '', message } = cause as Error & { readonly stdout?: string }
    if (stdout.trim().startsWith('{')) return JSON.parse(stdout) as Download
    throw new Error(`go can't download ${module}: ${message}\nEither ${otherwise}.`, { cause })
  }
}
