// docs/patches.md: its commands print what stands under them, its table of expressions is true, and so is each example.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Json, JsonMap } from '../src/domain/json/json.ts'
import { parseYaml } from '../src/runtime/yaml.ts'
import { applyPatches } from '../src/sync/patches/apply.ts'
import { checkSyncConfig } from '../src/sync/config/config.ts'
import type { SyncedKind } from '../src/sync/objects/synced-kinds.ts'
import type { NamespaceMappings, VirtualName } from '../src/sync/objects/host-name.ts'
import { checkPatches } from '../src/sync/patches/parse.ts'
import { WITHOUT_CLUSTERS } from '../src/sync/patches/reference.ts'
import { programArgs } from './support/command-process.ts'
import { stepsOf } from './support/documentation-blocks.ts'
import { createPatientSandbox } from './support/patient-sandbox.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/patches.md'), 'utf8')
const home = mkdtempSync(join(tmpdir(), 'patches-'))
const program = join(home, 'management-operator')
writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' ${programArgs().join(' ')} "$@"\n`)
chmodSync(program, 0o755)
const sandbox = createPatientSandbox()
/** For the example that overruns. */
const impatient = createPatientSandbox(100)
afterAll(async () => {
  rmSync(home, { recursive: true, force: true })
  await Promise.all([sandbox.close(), impatient.close()])
})

test.each(stepsOf(PAGE))('$command', ({ command, output }) => {
  const env = { ...process.env, PATH: `${home}:${process.env['PATH']}` }
  const printed = execFileSync('bash', ['-c', command], { cwd: ROOT, env, encoding: 'utf8' })
  expect(printed.trimEnd()).toBe(output.trimEnd())
})

/** An example of the page: patches with an object and its result, or with what is said about them. */
interface Example {
  /** Its key below sync.toHost; absent = services. */
  readonly kind?: SyncedKind
  readonly direction?: 'forward' | 'reverse'
  readonly patches: Json
  readonly namespaces?: NamespaceMappings | null
  /** Names in the virtual cluster by kind and name on the host. */
  readonly synced?: Readonly<Record<string, Readonly<Record<string, VirtualName>>>>
  readonly object?: JsonMap
  readonly becomes?: JsonMap
  readonly warning?: string
  readonly fault?: string
  readonly error?: string
}

const blocks = [...PAGE.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, text = '']) => text)
const examples = blocks
  .filter((text) => !text.startsWith('sync:'))
  .map((text) => ({ text, ...(parseYaml(text) as Example) }))

describe('the examples', () => {
  test('are all blocks but that of the file', () => {
    expect(blocks).toHaveLength(examples.length + 1)
    expect(examples.length).toBeGreaterThan(25)
  })

  test.each(examples)(
    '$text (18.5, 19.1, 19.2, 19.3, 19.4, 19.5, 19.6, 19.8)',
    async ({ warning, fault, error, becomes, ...example }) => {
      const expected = fault ?? error ?? ''
      const overruns = JSON.stringify(example.patches).includes('for (;;)')
      const outcome = await outcomeOf(example, overruns ? impatient : sandbox)
      expect(outcome.said.slice(0, expected.length)).toBe(expected)
      expect(outcome.becomes).toEqual(becomes)
      expect(outcome.warns).toEqual(warning === undefined ? [] : [warning])
    },
  )
})

/** The patched object, or what is said about the patches. */
async function outcomeOf(
  {
    kind = 'services',
    direction = 'forward',
    patches,
    namespaces = null,
    synced = {},
    object = {},
  }: Example,
  { evaluate }: typeof sandbox,
): Promise<{
  readonly warns: readonly string[]
  readonly said: string
  readonly becomes?: JsonMap
}> {
  const { config, faults, warnings } = checkSyncConfig({
    sync: { toHost: { [kind]: { patches } } },
  })
  const warns = warnings.map(({ text }) => text)
  if (config === null) return { warns, said: faults.join('\n') }
  const isForward = direction === 'forward'
  const patched = await applyPatches(
    object,
    config.kinds[kind].patches,
    direction,
    {
      place: { virtualCluster: 'my-vc', hostNamespace: 'vc-host', namespaces },
      namespace: 'shop',
      config: config.withDefaults,
      virtualObject: isForward ? object : null,
      hostObject: isForward ? null : object,
      ...WITHOUT_CLUSTERS,
      virtualNameOf: (host) => synced[host.kind]?.[host.name] ?? null,
    },
    evaluate,
  )
  if (patched.ok) return { warns, said: '', becomes: patched.object }
  const { patch, path, failure } = patched
  return { warns, said: `${patch.entry} at ${path}: ${failure.because}` }
}

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
    const path = 'spec.example'
    const { patches, faults } = checkPatches([{ path, expression }], 'p', [])
    expect(faults).toEqual([])
    const object = { spec: { example: JSON.parse(value) as string } }
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
      ? (patched.object as unknown as typeof object).spec.example
      : `an error: ${patched.failure.because}`
    const text = patched.ok ? `\`${JSON.stringify(shown)}\`` : shown
    expect(shown === undefined ? 'removed' : text).toBe(result)
  })
})
