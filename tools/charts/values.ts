// The generated parts of the values of charts: the schema of `config`, and the tables in the READMEs.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { configSchema, type JsonSchema } from './config-schema.ts'
import { AGENT, CHARTS, PLATFORM } from './files.ts'
import { withRequired } from './required-values.ts'
import { valuesTable } from './values-page.ts'

const TABLE = /(?<=<!-- values -->\n)[\s\S]*(?=<!-- \/values -->)/

/** The files with generated parts: path within `charts/` -> content. */
export const generatedValues = (): ReadonlyMap<string, string> =>
  new Map([...filesOf(PLATFORM, { $defs: { config: configSchema() } }), ...filesOf(AGENT, {})])

function filesOf(chart: string, definitions: JsonSchema): [string, string][] {
  const read = (name: string): string => readFileSync(join(CHARTS, chart, name), 'utf8')
  const defaults = parse(read('values.yaml')) as Record<string, unknown>
  const written = { ...(JSON.parse(read('values.schema.json')) as JsonSchema), ...definitions }
  const schema = withRequired(written, defaults)
  const table = valuesTable(schema, defaults)
  return [
    [`${chart}/values.schema.json`, `${JSON.stringify(schema, null, 2)}\n`],
    [`${chart}/README.md`, read('README.md').replace(TABLE, `${table}\n`)],
  ]
}
