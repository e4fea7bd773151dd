// docs/targets.md has each fault of a target, and what a kubeconfig may not have.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PROBE_FAULTS } from '../src/gateway/targets/probe-result.ts'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const PAGE = textOf('docs/targets.md')

describe('docs/targets.md (9.5)', () => {
  const [, rest = ''] = PAGE.split('\n## When a target does not work\n')
  const [table = ''] = rest.split('\n## ')
  const rows = [...table.matchAll(/^\| (`.*?`) \| \S/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
  )

  test.each(Object.values(PROBE_FAULTS))('has what to do for: %s', (fault) => {
    expect(rows).toContain(fault)
  })

  test('has no clause that the program does not say', () => {
    const program = ['definition', 'connections', 'report', 'secrets', 'probe-result']
      .map((name) => `src/gateway/targets/${name}.ts`)
      .concat('src/runtime/address-guard.ts', 'src/kube/client/kubeconfig-value.ts')
      .map(textOf)
      .join('\n')
    const parts = rows.flatMap((row) => row.split('…').map((part) => part.trim()))
    const unsaid = parts.filter((part) => part !== '' && !program.includes(part))
    expect(rows.length).toBeGreaterThan(15)
    expect(unsaid).toEqual([])
  })

  test('names each field that a kubeconfig may not have', () => {
    const source = textOf('src/kube/client/kubeconfig-value.ts')
    const refused = source.matchAll(
      /^ {2}'?([\w-]+)'?: (?:namesFile|runsProgram|namesIdentity|isUnsupported|checksServer)\b/gm,
    )
    const fields = Array.from(refused, ([, field = '']) => field)
    expect(fields.length).toBeGreaterThan(12)
    expect(fields.filter((field) => !PAGE.includes(`\`${field}\``))).toEqual([])
  })
})
