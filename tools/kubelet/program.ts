// The stand-in for a kubelet, our own program in Go: main.go says what it does.
import { readFileSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheDirectory } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const NAME = 'kubelet'

/**
 * The program's absolute path: what KUBELET_STAND_IN names, else from the user's cache, else built with Go into
 * that cache. Its modules have the versions of the control plane's: after that has been built, little is left.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function ensureKubelet(log: (line: string) => void): Promise<string> {
  const named = process.env['KUBELET_STAND_IN'] ?? ''
  if (named !== '') return resolve(named)
  const sources = readdirSync(MODULE_DIR).filter((file) => file.endsWith('.go'))
  const pins = ['go.mod', 'go.sum', ...sources.toSorted()]
  const into = cacheDirectory(
    NAME,
    process.env,
    homedir(),
    pins.map((file) => readFileSync(join(MODULE_DIR, file))),
  )
  await buildMissing({
    title: 'the stand-in for a kubelet',
    about: '1 minute, or some seconds after the control plane,',
    moduleDir: MODULE_DIR,
    into,
    sources: { [NAME]: { pkg: '.', about: '1 minute' } },
    linkerFlags: () => '-s -w',
    otherwise: 'set KUBELET_STAND_IN to the program',
    log,
  })
  return join(into, NAME)
}
