import { createHash } from 'node:crypto'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { buildMissing } from './build.ts'
import { PROGRAMS, type ProgramName } from './programs.ts'

/** The absolute path of each upstream program. */
export type Binaries = Readonly<Record<ProgramName, string>>

/** The folder with the go.mod that pins the programs. */
const MODULE_DIR = import.meta.dirname

/**
 * The folder where programs that were built here are kept: below XDG_CACHE_HOME, or ~/.cache when
 * that is absent or relative (the XDG specification says to ignore it then). Its last part changes
 * with whatever changes the programs: the pinned modules, the operating system, the processor.
 */
export function cacheDirectory(
  env: Readonly<NodeJS.ProcessEnv>,
  home: string,
  pins: readonly (string | Buffer)[],
): string {
  const xdg = env['XDG_CACHE_HOME'] ?? ''
  const hash = createHash('sha256')
  for (const pin of [...pins, process.platform, process.arch]) hash.update(pin).update('\0')
  const root = isAbsolute(xdg) ? xdg : join(home, '.cache')
  const key = hash.digest('hex').slice(0, 16)
  return join(root, 'management-operator', 'control-plane', key)
}

/** The programs that the folder does not hold as executable files; all of them without a folder. */
export function missingPrograms(directory: string): readonly ProgramName[] {
  return PROGRAMS.filter((name) => !isExecutable(join(directory, name)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function binariesIn(directory: string): Binaries {
  const path = (name: ProgramName) => join(directory, name)
  return {
    etcd: path('etcd'),
    'kube-apiserver': path('kube-apiserver'),
    'kube-controller-manager': path('kube-controller-manager'),
    kubectl: path('kubectl'),
  }
}

/**
 * The programs of a control plane: from KUBEBUILDER_ASSETS when that folder holds all four, else
 * from the user's cache, else built with Go into that cache, which takes about five minutes on two
 * cores the first time.
 *
 * A folder that holds only some of them is not mixed with others, so that all are of one version.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out.
 */
export async function ensureBinaries(log: (line: string) => void): Promise<Binaries> {
  const assets = process.env['KUBEBUILDER_ASSETS'] ?? ''
  if (assets !== '') {
    const missing = missingPrograms(assets)
    if (missing.length === 0) return binariesIn(resolve(assets))
    log(`KUBEBUILDER_ASSETS=${assets} lacks ${missing.join(', ')}: not used`)
  }
  const pins = ['go.mod', 'go.sum'].map((file) => readFileSync(join(MODULE_DIR, file)))
  const cache = cacheDirectory(process.env, homedir(), pins)
  if (missingPrograms(cache).length > 0) {
    await buildMissing({ moduleDir: MODULE_DIR, into: cache, missing: missingPrograms, log })
  }
  return binariesIn(cache)
}
