// Helm 3, by which many still install charts.
import { cacheOf } from '../control-plane/cache.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname

/** The path of Helm 3, or what HELM3 names. @throws as ensureProgram */
export const ensureHelm3 = (log: (line: string) => void): Promise<string> =>
  ensureProgram(
    {
      name: 'helm',
      title: 'Helm 3',
      pkg: 'helm.sh/helm/v3/cmd/helm',
      about: '2 minutes',
      moduleDir: MODULE_DIR,
      into: cacheOf('helm3', MODULE_DIR),
      variable: 'HELM3',
      linkerFlags,
    },
    log,
  )

/**
 * Flags of the linker, as Helm's own Makefile has them. Without them it takes every cluster for Kubernetes 1.20.
 *
 * @throws Error for a go.mod that pins no version
 */
function linkerFlags(goMod: string): string {
  const minor = /^\s*k8s\.io\/client-go v0\.(\d+)\./m.exec(goMod)?.[1]
  const version = /^\s*helm\.sh\/helm\/v3 (v\S+)/m.exec(goMod)?.[1]
  if (minor === undefined || version === undefined)
    throw new Error('go.mod does not require helm.sh/helm/v3 and k8s.io/client-go')
  const values = {
    'internal/version.version': version,
    'pkg/chartutil.k8sVersionMajor': '1',
    'pkg/chartutil.k8sVersionMinor': minor,
  }
  const set = Object.entries(values).map(([name, value]) => `-X helm.sh/helm/v3/${name}=${value}`)
  return ['-s -w', ...set].join(' ')
}
