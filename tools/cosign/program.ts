// cosign, which signs a release, and a registry on localhost, in which a test keeps what a release pushes.
import { cacheOf } from '../control-plane/cache.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname

/** The path of cosign, or what COSIGN names. @throws as ensureProgram */
export const ensureCosign = (log: (line: string) => void): Promise<string> =>
  ensureProgram(
    {
      name: 'cosign',
      title: 'cosign',
      pkg: 'github.com/sigstore/cosign/v3/cmd/cosign',
      about: '15 minutes',
      moduleDir: MODULE_DIR,
      into: cacheOf('cosign', MODULE_DIR),
      variable: 'COSIGN',
      isOnPath: true,
    },
    log,
  )

/**
 * The path of a registry that keeps images and charts in memory and listens on localhost, or what OCI_REGISTRY names.
 *
 * @throws as ensureProgram
 */
export const ensureRegistry = (log: (line: string) => void): Promise<string> =>
  ensureProgram(
    {
      name: 'registry',
      title: 'the registry',
      pkg: 'github.com/google/go-containerregistry/cmd/registry',
      about: '20 seconds',
      moduleDir: MODULE_DIR,
      into: cacheOf('oci-registry', MODULE_DIR),
      variable: 'OCI_REGISTRY',
    },
    log,
  )
