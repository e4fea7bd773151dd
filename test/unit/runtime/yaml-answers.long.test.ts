import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { formatYaml } from '../../../src/runtime/yaml.ts'
import { ensureYamlReader } from '../../../tools/yaml-reader/program.ts'
import { ANSWERS, type Row, TEXTS } from './yaml-answers.ts'

const BUILT_WITHIN_MS = 5 * 60_000

interface Answer {
  readonly json?: string
  readonly error?: string
}

/** Values of the texts by the library of the API server. */
async function readByApiServer(texts: readonly string[]): Promise<readonly Answer[]> {
  const program = await ensureYamlReader(console.log)
  const input = JSON.stringify(texts)
  const { status, stdout, stderr } = spawnSync(program, { input, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`)
  return JSON.parse(stdout) as readonly Answer[]
}

// Add a new text with null as its answer; `vitest run --project unit <this file> --update` fills it in.
test(
  "the committed answers are those of the API server's library (X5)",
  async () => {
    const sections: string[] = []
    for (const [name, rows] of Object.entries<readonly Row[]>(ANSWERS)) {
      const texts = rows.map(([text]) => text)
      const answers = await readByApiServer(texts)
      const lines = texts.map((text, at) => JSON.stringify([text, answers[at]?.json ?? null]))
      sections.push(`"${name}": [\n${lines.join(',\n')}\n]`)
    }
    await expect(`{\n${sections.join(',\n')}\n}\n`).toMatchFileSnapshot('yaml-answers.json')
  },
  BUILT_WITHIN_MS,
)

test(
  'the API server parses formatted YAML to the same value (X5)',
  async () => {
    const answers = await readByApiServer(TEXTS.map(formatYaml))
    expect(answers.map(({ json, error }) => error ?? JSON.parse(json ?? ''))).toEqual(TEXTS)
  },
  BUILT_WITHIN_MS,
)
