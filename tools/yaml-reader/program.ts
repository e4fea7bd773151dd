// The API server's own reader of YAML, our own program in Go around its library.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { cacheDirectory } from '../control-plane/cache.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname
const NAME = 'yaml-reader'
const PINS = ['go.mod', 'go.sum', 'main.go']

/**
 * The program's absolute path, or what YAML_READER names. Its main.go says what it reads and writes.
 *
 * @throws as ensureProgram
 */
export function ensureYamlReader(log: (line: string) => void): Promise<string> {
  const pins = PINS.map((file) => readFileSync(join(MODULE_DIR, file)))
  return ensureProgram(
    {
      name: NAME,
      title: "the API server's reader of YAML",
      pkg: '.',
      about: '10 seconds',
      moduleDir: MODULE_DIR,
      into: cacheDirectory(NAME, process.env, homedir(), pins),
      variable: 'YAML_READER',
    },
    log,
  )
}
