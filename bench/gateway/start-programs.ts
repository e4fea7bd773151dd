// What a start of the gateway is compared with: its sources as they were run before they were bundled, and a Node that reads
// the files of the bundle and runs none of them.
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { NODE_FLAGS } from '../../tools/node-flags.ts'
import { type Running, startPeer } from '../measure/peer-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const SOURCES = join(ROOT, 'src')
/** A path of a source file in the sources: of an import, or of the program of a worker. */
const SOURCE_PATH = /(?<=(['"])\.{1,2}\/[^'"\n]*)\.ts(?=\1)/g

/**
 * Writes each source as a file of JavaScript, without its types, below a folder of this checkout; the packages are those of
 * the checkout. Node would compile the types away at each start, which no image ever did.
 *
 * @returns the file that starts the program
 */
export function unbundledProgram(folder: string): string {
  rmSync(folder, { recursive: true, force: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  cpSync(SOURCES, join(folder, 'src'), { recursive: true, filter: (path) => !path.endsWith('.ts') })
  for (const path of globSync('**/*.ts', { cwd: SOURCES })) {
    const text = stripTypeScriptTypes(readFileSync(join(SOURCES, path), 'utf8'))
    const file = join(folder, 'src', path.replace(/\.ts$/, '.js'))
    writeFileSync(file, text.replaceAll(SOURCE_PATH, '.js'))
  }
  return join(folder, 'src/main.js')
}

/** The file of the bundle that the command's name loads. */
const GATEWAY = 'commands-gateway-command.js'
/** An import in a file of the bundle: one line each, before all code. */
const IMPORT = /^import\b[^'"\n]*["']\.\/([^'"\n]+)["'];$/gm

/** The files of a bundle that `main.js gateway` loads before it serves. @throws Error when one is missing */
export function filesOfGateway(main: string): readonly string[] {
  const folder = dirname(main)
  const found = new Set([main, join(folder, GATEWAY)])
  // A set goes on with what is added meanwhile.
  for (const file of found)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(IMPORT))
      found.add(join(folder, name))
  return [...found]
}

const READ_ALL = `
  import { readFileSync } from 'node:fs'
  for (const file of process.argv.slice(1)) readFileSync(file)
  console.log('ready')
  setInterval(() => undefined, 3_600_000)`

/** Starts a Node that reads these files, and nothing else. Resolves when it has. */
export const startReader = (files: readonly string[]): Promise<Running> =>
  startPeer(process.execPath, [...NODE_FLAGS, '--input-type=module', '--eval', READ_ALL, ...files])
