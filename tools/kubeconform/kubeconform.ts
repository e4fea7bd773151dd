// kubeconform: checks manifests against JSON schemas, offline.
import { cacheOf } from '../control-plane/cache.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname

/** The path of kubeconform, or what KUBECONFORM names. @throws as ensureProgram */
export const ensureKubeconform = (log: (line: string) => void): Promise<string> =>
  ensureProgram(
    {
      name: 'kubeconform',
      title: 'kubeconform',
      pkg: 'github.com/yannh/kubeconform/cmd/kubeconform',
      about: '10 seconds',
      moduleDir: MODULE_DIR,
      into: cacheOf('kubeconform', MODULE_DIR),
      variable: 'KUBECONFORM',
      isOnPath: true,
    },
    log,
  )
