// helm-unittest, which runs the suites of charts/*/tests. It renders by Helm 3, and needs no Helm beside it.
import { cacheOf } from '../control-plane/cache.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname

/** The path of helm-unittest, or what HELM_UNITTEST names. @throws as ensureProgram */
export const ensureHelmUnittest = (log: (line: string) => void): Promise<string> =>
  ensureProgram(
    {
      name: 'helm-unittest',
      title: 'helm-unittest',
      pkg: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest',
      about: '2 minutes',
      moduleDir: MODULE_DIR,
      into: cacheOf('helm-unittest', MODULE_DIR),
      variable: 'HELM_UNITTEST',
    },
    log,
  )
