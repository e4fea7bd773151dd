// The health of an object as Argo CD and Flux see it, by the interpreters that they use: two of our own programs
// in Go, one around gopher-lua, one around Flux's own evaluation of CEL.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheDirectory } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const SOURCES = {
  'argocd-health': { pkg: './argocd-health', about: '10 seconds' },
  'flux-health': { pkg: './flux-health', about: '1 minute' },
} as const
const PINS = ['go.mod', 'go.sum', 'argocd-health/main.go', 'flux-health/main.go']

/** The absolute path of each program; each says in its main.go what it reads and writes. */
export interface HealthPrograms {
  readonly argocd: string
  readonly flux: string
}

/**
 * Both programs: from the folder that HEALTH_PROGRAMS names, else from the user's cache, else built with
 * Go into that cache.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function ensureHealthPrograms(log: (line: string) => void): Promise<HealthPrograms> {
  const named = process.env['HEALTH_PROGRAMS'] ?? ''
  if (named !== '') return programsIn(resolve(named))
  const pins = PINS.map((file) => readFileSync(join(MODULE_DIR, file)))
  const into = cacheDirectory('gitops', process.env, homedir(), pins)
  await buildMissing({
    title: 'the interpreters of Argo CD and Flux',
    about: '1 minute',
    moduleDir: MODULE_DIR,
    into,
    sources: SOURCES,
    linkerFlags: () => '-s -w',
    otherwise: `set HEALTH_PROGRAMS to a folder that holds ${Object.keys(SOURCES).join(' and ')}`,
    log,
  })
  return programsIn(into)
}

const programsIn = (folder: string): HealthPrograms => ({
  argocd: join(folder, 'argocd-health'),
  flux: join(folder, 'flux-health'),
})
