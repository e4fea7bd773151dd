// The API server's own reader of YAML, our own program in Go around its library.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheDirectory } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const NAME = 'yaml-reader'
const PINS = ['go.mod', 'go.sum', 'main.go']

/**
 * The program's absolute path: what YAML_READER names, else from the user's cache, else built with Go into
 * that cache. Its main.go says what it reads and writes.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function ensureYamlReader(log: (line: string) => void): Promise<string> {
  const named = process.env['YAML_READER'] ?? ''
  if (named !== '') return resolve(named)
  const pins = PINS.map((file) => readFileSync(join(MODULE_DIR, file)))
  const into = cacheDirectory(NAME, process.env, homedir(), pins)
  await buildMissing({
    title: "the API server's reader of YAML",
    about: '10 seconds',
    moduleDir: MODULE_DIR,
    into,
    sources: { [NAME]: { pkg: '.', about: '10 seconds' } },
    linkerFlags: () => '-s -w',
    otherwise: 'set YAML_READER to the program',
    log,
  })
  return join(into, NAME)
}
