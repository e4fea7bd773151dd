// Helm: what finds the releases of a cluster by the labels of Secrets and ConfigMaps.
import { join, resolve } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheOf } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const SOURCES = { helm: { pkg: 'helm.sh/helm/v4/cmd/helm', about: '2 minutes' } } as const

/**
 * The path of Helm: what HELM names, else from the user's cache, else built with Go into that cache.
 *
 * @throws Error when Go is missing, too old or fails; its first line has the ways out
 */
export async function ensureHelm(log: (line: string) => void): Promise<string> {
  const named = process.env['HELM'] ?? ''
  if (named !== '') return resolve(named)
  const into = cacheOf('helm', MODULE_DIR)
  await buildMissing({
    title: 'Helm',
    about: '2 minutes',
    moduleDir: MODULE_DIR,
    into,
    sources: SOURCES,
    linkerFlags: () => '-s -w',
    otherwise: 'set HELM to the program',
    log,
  })
  return join(into, 'helm')
}
