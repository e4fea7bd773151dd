import { join, resolve } from 'node:path'
import { buildMissing } from './build.ts'
import { cacheOf, missingIn } from './cache.ts'
import { linkerFlags, PROGRAMS, type ProgramName, SOURCES } from './programs.ts'

/** The absolute path of each upstream program. */
export type Binaries = Readonly<Record<ProgramName, string>>

/** The folder with the go.mod that pins the programs. */
const MODULE_DIR = import.meta.dirname

function binariesIn(directory: string): Binaries {
  const path = (name: ProgramName) => join(directory, name)
  return {
    etcd: path('etcd'),
    'kube-apiserver': path('kube-apiserver'),
    'kube-controller-manager': path('kube-controller-manager'),
    kubectl: path('kubectl'),
  }
}

/** The path of kubectl where the programs are there already; null = ensureBinaries would build it. */
export function builtKubectl(): string | null {
  const folders = [process.env['KUBEBUILDER_ASSETS'] ?? '', cacheOf('control-plane', MODULE_DIR)]
  const folder = folders.find((path) => path !== '' && missingIn(path, PROGRAMS).length === 0)
  return folder === undefined ? null : binariesIn(resolve(folder)).kubectl
}

/**
 * The programs of a control plane: from KUBEBUILDER_ASSETS when that folder holds all four, else
 * from the user's cache, else built with Go into that cache, which takes 5 to 10 minutes on two
 * cores the first time.
 *
 * A folder that holds only some of them is not mixed with others, so that all are of one version.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out.
 */
export async function ensureBinaries(log: (line: string) => void): Promise<Binaries> {
  const assets = process.env['KUBEBUILDER_ASSETS'] ?? ''
  if (assets !== '') {
    const missing = missingIn(assets, PROGRAMS)
    if (missing.length === 0) return binariesIn(resolve(assets))
    log(`KUBEBUILDER_ASSETS=${assets} lacks ${missing.join(', ')}: not used`)
  }
  const cache = cacheOf('control-plane', MODULE_DIR)
  await buildMissing({
    title: 'the control plane',
    about: '5 minutes',
    moduleDir: MODULE_DIR,
    into: cache,
    sources: SOURCES,
    linkerFlags,
    otherwise: `set KUBEBUILDER_ASSETS to a folder that holds ${PROGRAMS.join(', ')}, such as prebuilt archives have them: etcd, kube-apiserver and kubectl by setup-envtest (controller-runtime), kube-controller-manager from the Kubernetes release`,
    log,
  })
  return binariesIn(cache)
}
