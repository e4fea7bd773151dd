// Helm 3, by which many still install charts.
import { join, resolve } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheOf } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const SOURCES = { helm: { pkg: 'helm.sh/helm/v3/cmd/helm', about: '2 minutes' } } as const

/**
 * The path of Helm 3: what HELM3 names, else from the user's cache, else built with Go into that cache.
 *
 * @throws Error when Go is missing, too old or fails; its first line has the ways out
 */
export async function ensureHelm3(log: (line: string) => void): Promise<string> {
  const named = process.env['HELM3'] ?? ''
  if (named !== '') return resolve(named)
  const into = cacheOf('helm3', MODULE_DIR)
  await buildMissing({
    title: 'Helm 3',
    about: '2 minutes',
    moduleDir: MODULE_DIR,
    into,
    sources: SOURCES,
    linkerFlags,
    otherwise: 'set HELM3 to the program',
    log,
  })
  return join(into, 'helm')
}

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
