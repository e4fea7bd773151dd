// Runs in a container: prints what lies in its file system besides what the kernel shows there, each as JSON in
// a line. Its arguments are texts to search the files for.
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Something in the file system of a container. */
export interface FoundFile {
  readonly path: string
  readonly kind: 'folder' | 'file' | 'other'
  /** Permission bits. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Whether it is a program or a library of the machine's own kind. */
  readonly isElf: boolean
  /** Whether the Node that looks has loaded it, as a library or as what loads them. */
  readonly isLoaded: boolean
  /** Which of the texts are in it. */
  readonly says: readonly string[]
}

const KERNELS = new Set(['/dev', '/proc', '/sys'])
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
  if (KERNELS.has(path)) return
  const found = look(path)
  yield found
  if (found.kind !== 'folder') return
  for (const name of readdirSync(path)) yield* below(join(path, name))
}

for (const found of below('/')) console.log(JSON.stringify(found))
