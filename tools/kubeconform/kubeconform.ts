// kubeconform: checks manifests against JSON schemas, offline.
import { join } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheOf } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const SOURCES = {
  kubeconform: { pkg: 'github.com/yannh/kubeconform/cmd/kubeconform', about: '10 seconds' },
} as const

/**
 * The path of kubeconform: what KUBECONFORM names, else from the user's cache, else built with Go into
 * that cache.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function ensureKubeconform(log: (line: string) => void): Promise<string> {
  const named = process.env['KUBECONFORM'] ?? ''
  if (named !== '') return named
  const into = cacheOf('kubeconform', MODULE_DIR)
  await buildMissing({
    title: 'kubeconform',
    about: '10 seconds',
    moduleDir: MODULE_DIR,
    into,
    sources: SOURCES,
    linkerFlags: () => '-s -w',
    otherwise: 'set KUBECONFORM to the program',
    log,
  })
  return join(into, 'kubeconform')
}
