// Helm: what finds the releases of a cluster by the labels of Secrets and ConfigMaps.
import { cacheOf } from '../control-plane/cache.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname

/** The path of Helm, or what HELM names. @throws as ensureProgram */
export const ensureHelm = (log: (line: string) => void): Promise<string> =>
  ensureProgram(
    {
      name: 'helm',
      title: 'Helm',
      pkg: 'helm.sh/helm/v4/cmd/helm',
      about: '2 minutes',
      moduleDir: MODULE_DIR,
      into: cacheOf('helm', MODULE_DIR),
      variable: 'HELM',
    },
    log,
  )
