// Wrong values of the charts, made from their schemas: a typo at each level, another type, an unknown word. Helm refuses
// each with its path.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { AGENT, CHARTS, PLATFORM } from '../../../tools/charts/files.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { sampled } from '../../support/tier.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'

const helm = await programOrSkip(ensureHelm)
const root = mkdtempSync(join(tmpdir(), 'chart-faults-'))
afterAll(() => rmSync(root, { recursive: true }))

interface Schema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}

interface Fault {
  readonly chart: string
  readonly values: object
  /** The message of Helm. */
  readonly says: string
}

/** A value of another type than the key. */
const OTHER: Readonly<Record<string, unknown>> = {
  string: 1,
  integer: 'one',
  boolean: 'maybe',
  array: 'a list',
  object: 'a map',
}

const faults: readonly Fault[] = [PLATFORM, AGENT].flatMap((chart) => {
  const schema = JSON.parse(
    readFileSync(join(CHARTS, chart, 'values.schema.json'), 'utf8'),
  ) as Schema
  return faultsIn(schema, []).map((fault) => ({ chart, ...fault }))
})

function faultsIn(
  { type = '', enum: words, properties }: Schema,
  path: readonly string[],
): readonly Omit<Fault, 'chart'>[] {
  const at = `at '${path.map((step) => `/${step}`).join('')}'`
  const typo = {
    values: valueAt([...path, 'tpyo'], true),
    says: `${at}: additional properties 'tpyo'`,
  }
  const otherType = { values: valueAt(path, OTHER[type]), says: `${at}: got ` }
  const unknown = { values: valueAt(path, 'unknown'), says: `${at}: value must be one of ` }
  const below = Object.entries(properties ?? {}).flatMap(([name, one]) =>
    faultsIn(one, [...path, name]),
  )
  return [
    ...(properties ? [typo] : []),
    ...(path.length > 0 && type in OTHER && !words ? [otherType] : []),
    ...(words ? [unknown] : []),
    ...below,
  ]
}

function valueAt(path: readonly string[], value: unknown): object {
  return path.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value) as object
}

const ROWS = sampled(
  faults.map((fault) => ({ ...fault, title: `${fault.chart}: ${fault.says}` })),
  20,
)

test('the schemas have faults of each kind at each level', () => {
  expect(faults.length).toBeGreaterThan(100)
})

test.each(ROWS)(
  '$title is what Helm says of a wrong value (34.1)',
  async ({ chart, values, says }) => {
    const file = join(root, `${Math.random()}.json`)
    writeFileSync(file, JSON.stringify(values))
    const args = ['template', 'test', join(CHARTS, chart), '--values', file]
    const { code, stderr } = await new Promise<{ code: number; stderr: string }>((resolve) =>
      execFile(helm, args, { maxBuffer: 2 ** 26 }, (error, _, text) =>
        resolve({ code: Number(error?.code ?? 0), stderr: text }),
      ),
    )
    expect(code).not.toBe(0)
    expect(stderr).toContain(says)
  },
)
