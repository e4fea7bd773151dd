// The program as the image has it: JavaScript in few files, with the code of its packages. Node would otherwise read 450
// sources and as many files of packages at each start, and compile the types away.
import { copyFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { type Plugin, type PreRenderedChunk, rolldown } from 'rolldown'

/** The program's own start, and the programs of worker threads, which are files of their own. */
const ENTRIES = {
  main: 'main.ts',
  worker: 'sync/sandbox/worker.ts',
  'sqlite-worker': 'audit/store/sqlite-worker.ts',
  'signature-worker': 'signin/providers/saml/signature-worker.ts',
} as const

/** WebAssembly that the sandbox's engine reads from beside its code. */
const WASM = '@jitl/quickjs-wasmfile-release-sync/wasm'
const WASM_FILE = 'emscripten-module.wasm'

/**
 * Writes the program into an empty folder: `main.js` starts it. A `package.json` above must say that files are modules. The
 * same sources and packages give the same bytes. Nothing is minified, and a comment before each part names its source.
 *
 * @param sources the folder src/, with node_modules in a folder above
 * @throws Error when a source or a package is missing, or a package is left outside
 */
export async function bundleProgram(sources: string, into: string): Promise<void> {
  rmSync(into, { recursive: true, force: true })
  const input = Object.fromEntries(
    Object.entries(ENTRIES).map(([name, path]) => [name, join(sources, path)]),
  )
  const build = await rolldown({
    input,
    // The comments name sources by their path from here: they are the same in every checkout.
    cwd: join(sources, '..'),
    platform: 'node',
    plugins: [workerBesideIt],
    // A package that is missing would be left outside with a warning.
    onLog: (level, { message }) => {
      if (level === 'warn') throw new Error(message)
    },
  })
  const chunkFileNames = (chunk: PreRenderedChunk): string => chunkName(sources, chunk)
  await build.write({
    dir: into,
    format: 'esm',
    minify: false,
    entryFileNames: '[name].js',
    chunkFileNames,
  })
  await build.close()
  copyFileSync(createRequire(join(sources, ENTRIES.main)).resolve(WASM), join(into, WASM_FILE))
}

/**
 * Bundles the program of this checkout. Processes that tests and measurements start from now on run it.
 *
 * @throws as bundleProgram
 */
export async function useBundledProgram(into: string): Promise<void> {
  await bundleProgram(join(import.meta.dirname, '../../src'), into)
  process.env['PROGRAM_FILE'] = join(into, 'main.js')
}

/** How the sources name the program of a worker thread. */
const WORKER_SOURCE = /'\.\/((?:sqlite-|signature-)?worker)\.ts'(?=, import\.meta\.url)/

/** The worker's file is beside the file that starts it. */
const workerBesideIt: Plugin = {
  name: 'worker-beside-it',
  transform: (code) => (WORKER_SOURCE.test(code) ? code.replace(WORKER_SOURCE, `'./$1.js'`) : null),
}

/** The name of a file: by the source that is loaded only when it is needed, such as `commands-gateway-command.js`. */
function chunkName(sources: string, { facadeModuleId, name }: PreRenderedChunk): string {
  const source = facadeModuleId && relative(sources, facadeModuleId)
  if (!source || source.startsWith('..')) return `shared-${name.replaceAll('.', '-')}.js`
  return `${source.replace(/\.ts$/, '').replaceAll('/', '-')}.js`
}
