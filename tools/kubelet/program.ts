// The stand-in for a kubelet, our own program in Go: main.go says what it does.
import { readFileSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { cacheDirectory } from '../control-plane/cache.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname
const NAME = 'kubelet'

/**
 * The program's absolute path, or what KUBELET_STAND_IN names. Its modules have the versions of the control plane's: after
 * that has been built, little is left.
 *
 * @throws as ensureProgram
 */
export function ensureKubelet(log: (line: string) => void): Promise<string> {
  const sources = readdirSync(MODULE_DIR).filter((file) => file.endsWith('.go'))
  const pins = ['go.mod', 'go.sum', ...sources.toSorted()].map((file) =>
    readFileSync(join(MODULE_DIR, file)),
  )
  return ensureProgram(
    {
      name: NAME,
      title: 'the stand-in for a kubelet',
      pkg: '.',
      about: '1 minute',
      aboutAll: '1 minute, or some seconds after the control plane,',
      moduleDir: MODULE_DIR,
      into: cacheDirectory(NAME, process.env, homedir(), pins),
      variable: 'KUBELET_STAND_IN',
    },
    log,
  )
}
