// helm-unittest, which runs the suites of charts/*/tests. It renders by Helm 3, and needs no Helm beside it.
import { join, resolve } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheOf } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const SOURCES = {
  'helm-unittest': {
    pkg: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest',
    about: '2 minutes',
  },
} as const

/**
 * The path of helm-unittest: what HELM_UNITTEST names, else from the user's cache, else built with Go into that cache.
 *
 * @throws Error when Go is missing, too old or fails; its first line has the ways out
 */
export async function ensureHelmUnittest(log: (line: string) => void): Promise<string> {
  const named = process.env['HELM_UNITTEST'] ?? ''
  if (named !== '') return resolve(named)
  const into = cacheOf('helm-unittest', MODULE_DIR)
  await buildMissing({
    title: 'helm-unittest',
    about: '2 minutes',
    moduleDir: MODULE_DIR,
    into,
    sources: SOURCES,
    linkerFlags: () => '-s -w',
    otherwise: 'set HELM_UNITTEST to the program',
    log,
  })
  return join(into, 'helm-unittest')
}
