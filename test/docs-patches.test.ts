// docs/patches.md: its commands print what stands under them, and its table of expressions is true.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../src/runtime/clock.ts'
import { parseYaml } from '../src/runtime/yaml.ts'
import { applyPatches } from '../src/sync/patcher.ts'
import { checkPatches } from '../src/sync/rules/patch.ts'
import { WITHOUT_CLUSTERS } from '../src/sync/rules/references.ts'
import { createSandbox } from '../src/sync/sandbox/sandbox.ts'
import { PROGRAM } from './support/command-process.ts'
import { stepsOf } from './support/documentation-blocks.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/patches.md'), 'utf8')
const home = mkdtempSync(join(tmpdir(), 'patches-'))
const program = join(home, 'management-operator')
writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' ${PROGRAM.join(' ')} "$@"\n`)
chmodSync(program, 0o755)
const sandbox = createSandbox(systemClock())
afterAll(async () => {
  rmSync(home, { recursive: true, force: true })
  await sandbox.close()
})

test.each(stepsOf(PAGE))('$command', ({ command, output }) => {
  const env = { ...process.env, PATH: `${home}:${process.env['PATH']}` }
  const printed = execFileSync('bash', ['-c', command], { cwd: ROOT, env, encoding: 'utf8' })
  expect(printed.trimEnd()).toBe(output.trimEnd())
})

test('the example on the page is the one in the file', () => {
  const [, example = ''] = /^```yaml\n(sync:\n[^]*?)^```$/m.exec(PAGE) ?? []
  const file = readFileSync(join(ROOT, 'docs/examples/sync/vcluster.yaml'), 'utf8')
  expect(parseYaml(example)).toEqual(parseYaml(file))
})

describe('the table of expressions', () => {
  const rows = [...PAGE.matchAll(/^\| `(.+)` \| `(.+)` \| (`.+`|removed|an error: .+) \|$/gm)].map(
    ([, expression = '', value = '', result = '']) => ({ expression, value, result }),
  )

  test('has rows', () => expect(rows.length).toBeGreaterThan(10))

  test.each(rows)('$expression', async ({ expression, value, result }) => {
    const path = 'metadata.labels.example'
    const { patches, faults } = checkPatches([{ path, expression }], 'p', [])
    expect(faults).toEqual([])
    const object = { metadata: { labels: { example: JSON.parse(value) as string } } }
    const patched = await applyPatches(
      object,
      patches,
      'forward',
      {
        place: { virtualCluster: 'my-vc', hostNamespace: 'vc-host', namespaces: null },
        namespace: 'shop',
        config: {},
        virtualObject: object,
        hostObject: null,
        ...WITHOUT_CLUSTERS,
      },
      sandbox.evaluate,
    )
    const shown = patched.ok
      ? (patched.object as unknown as typeof object).metadata.labels.example
      : `an error: ${patched.failure.because}`
    const text = patched.ok ? `\`${JSON.stringify(shown)}\`` : shown
    expect(shown === undefined ? 'removed' : text).toBe(result)
  })
})
