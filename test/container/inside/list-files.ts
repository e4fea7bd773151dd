// Runs in a container: prints its files as JSON lines, without the file systems of the kernel. Its arguments are
// texts to search the files for.
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file or folder of a container. */
export interface FoundFile {
  readonly path: string
  readonly kind: 'folder' | 'file' | 'other'
  /** Permission bits. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Whether it is an executable or a library. */
  readonly isElf: boolean
  /** Whether the running Node has loaded it as a library or as the dynamic loader. */
  readonly isLoaded: boolean
  /** The searched texts that it contains. */
  readonly says: readonly string[]
}

const KERNEL_FOLDERS = new Set(['/dev', '/proc', '/sys'])
const ELF = Buffer.from('\x7fELF')
const texts = process.argv.slice(1)
const loaded = new Set<string>(readFileSync('/proc/self/maps', 'utf8').match(/\/\S+\.so\S*/g))

function look(path: string): FoundFile {
  const stat = lstatSync(path)
  const kind = stat.isDirectory() ? 'folder' : stat.isFile() ? 'file' : 'other'
  const content = kind === 'file' ? readFileSync(path) : Buffer.alloc(0)
  return {
    path,
    kind,
    mode: stat.mode & 0o7777,
    uid: stat.uid,
    gid: stat.gid,
    isElf: content.subarray(0, ELF.length).equals(ELF),
    isLoaded: loaded.has(path),
    says: texts.filter((text) => content.includes(text)),
  }
}

function* below(path: string): Generator<FoundFile> {
  if (KERNEL_FOLDERS.has(path)) return
  const found = look(path)
  yield found
  if (found.kind !== 'folder') return
  for (const name of readdirSync(path)) yield* below(join(path, name))
}

for (const found of below('/')) console.log(JSON.stringify(found))
