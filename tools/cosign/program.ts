// cosign, which signs a release, and a registry on localhost, in which a test keeps what a release pushes.
import { join, resolve } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheOf } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const COSIGN = {
  cosign: { pkg: 'github.com/sigstore/cosign/v3/cmd/cosign', about: '15 minutes' },
} as const
const REGISTRY = {
  registry: { pkg: 'github.com/google/go-containerregistry/cmd/registry', about: '20 seconds' },
} as const

/**
 * The path of cosign: what COSIGN names, else from the user's cache, else built with Go into that cache.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function ensureCosign(log: (line: string) => void): Promise<string> {
  const named = process.env['COSIGN'] ?? ''
  if (named !== '') return named.includes('/') ? resolve(named) : named
  const into = cacheOf('cosign', MODULE_DIR)
  await buildMissing({
    title: 'cosign',
    about: '15 minutes',
    moduleDir: MODULE_DIR,
    into,
    sources: COSIGN,
    linkerFlags: () => '-s -w',
    otherwise: 'set COSIGN to the program',
    log,
  })
  return join(into, 'cosign')
}

/**
 * The path of a registry that keeps images and charts in memory and listens on localhost: from the user's cache, else
 * built with Go into that cache.
 *
 * @throws Error when Go is missing, too old or fails
 */
export async function ensureRegistry(log: (line: string) => void): Promise<string> {
  const named = process.env['OCI_REGISTRY'] ?? ''
  if (named !== '') return resolve(named)
  const into = cacheOf('oci-registry', MODULE_DIR)
  await buildMissing({
    title: 'the registry',
    about: '20 seconds',
    moduleDir: MODULE_DIR,
    into,
    sources: REGISTRY,
    linkerFlags: () => '-s -w',
    otherwise: 'set OCI_REGISTRY to the program',
    log,
  })
  return join(into, 'registry')
}
