// Command lines of `syncer validate` and `syncer try`: their files, and the attempts of a test file in one sandbox, whose
// start takes a hundred times as long as an attempt.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { run } from '../../../../src/commands/syncer/try-patches.ts'
import { captured } from '../../../support/command-line.ts'
import type { RunResult } from '../../../support/command-process.ts'
import { createPatientSandbox } from '../../../support/patient-sandbox.ts'

/** Files and attempts of one test file, which are gone after its last test. */
export function syncerCommandLines() {
  const home = mkdtempSync(join(tmpdir(), 'syncer-'))
  const sandbox = createPatientSandbox()
  afterAll(async () => {
    rmSync(home, { recursive: true, force: true })
    await sandbox.close()
  })

  /** The path of a file with that content. */
  function file(name: string, content: unknown): string {
    const path = join(home, name)
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }

  const configOf = (kind: string, ...patches: readonly object[]): string =>
    file(`${kind}-${Math.random()}.yaml`, { sync: { toHost: { [kind]: { patches } } } })

  const objectOf = (kind: string, fields: object = {}): string =>
    file(`${kind}-${Math.random()}.yaml`, {
      apiVersion: 'v1',
      kind,
      metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
      ...fields,
    })

  const attempt = (
    config: string,
    object: string,
    ...flags: readonly string[]
  ): Promise<RunResult> =>
    captured(() =>
      run(['try', '--config', config, '--object', object, ...flags], () => ({
        evaluate: sandbox.evaluate,
        close: async () => undefined,
      })),
    )

  return { home, file, configOf, objectOf, attempt }
}
