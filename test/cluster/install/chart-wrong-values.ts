// Wrong values of a chart, made from its closed schema: a typo at each level, another type, an unknown word.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CHARTS, PLATFORM } from '../../../tools/charts/files.ts'
import type { ChartRenderer } from './chart-renderer.ts'

/** What the tests read of a JSON schema of values. */
export interface ValuesSchema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly anyOf?: readonly object[]
  readonly not?: { readonly not?: object }
  readonly properties?: Readonly<Record<string, ValuesSchema>>
  readonly additionalProperties?: boolean | ValuesSchema
  readonly items?: ValuesSchema
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, ValuesSchema>>
}

/** Values with one mistake. */
export interface WrongValues {
  readonly values: object
  /** What Helm says of it, with its path. */
  readonly says: string
}

/** The schema of the values of a chart: its folder, or its name within `charts/`. */
export const schemaOf = (chart: string): ValuesSchema =>
  JSON.parse(readFileSync(resolve(CHARTS, chart, 'values.schema.json'), 'utf8')) as ValuesSchema

/** A value of another type than the key. */
const OTHER: Readonly<Record<string, unknown>> = {
  string: 1,
  integer: 'one',
  boolean: 'maybe',
  array: 'a list',
  object: 'a map',
}

/** One for each mistake that each value can have; values of `config` among them. */
export const wrongValues = (schema: ValuesSchema): readonly WrongValues[] =>
  wrongAt(schema, [], schema.$defs ?? {})

function wrongAt(
  schema: ValuesSchema,
  path: readonly string[],
  definitions: Readonly<Record<string, ValuesSchema>>,
): readonly WrongValues[] {
  const { type = '', enum: words, properties } = resolved(schema, definitions)
  const at = `at '${path.map((step) => `/${step}`).join('')}'`
  const typo = {
    values: valueAt([...path, 'tpyo'], true),
    says: `${at}: additional properties 'tpyo' not allowed`,
  }
  const otherType = { values: valueAt(path, OTHER[type]), says: `${at}: got ` }
  const unknown = { values: valueAt(path, 'unknown'), says: `${at}: value must be one of ` }
  return [
    ...(properties ? [typo] : []),
    ...(path.length > 0 && type in OTHER && !words ? [otherType] : []),
    ...(words ? [unknown] : []),
    ...Object.entries(properties ?? {}).flatMap(([name, one]) =>
      wrongAt(one, [...path, name], definitions),
    ),
  ]
}

/** The schema that a reference names, or the schema itself. */
export const resolved = (
  schema: ValuesSchema,
  definitions: Readonly<Record<string, ValuesSchema>>,
): ValuesSchema =>
  schema.$ref === undefined
    ? schema
    : (definitions[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)] ?? schema)

/** Values with one value, at this path. */
export function valueAt(path: readonly string[], value: unknown): object {
  return path.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value) as object
}

/** Mistakes of one person at several levels. */
const SEVERAL = {
  gatway: { replicas: 3 },
  gateway: { replicas: 'two', service: { tpye: 'LoadBalancer' } },
  monitoring: { rules: { enabled: 'maybe' } },
  legacyImpersonation: 'sometimes',
  config: { auth: { accessKeyMaxTTLSecond: 60 } },
}

/** What Helm does not say of `SEVERAL`, of the chart of the platform; all is said = empty. */
export async function unsaidOfSeveral(charts: ChartRenderer): Promise<readonly string[]> {
  const { code, stderr } = await charts.dryRun(PLATFORM, SEVERAL)
  if (code === 0) return ['a refusal']
  return [
    "at '': additional properties 'gatway' not allowed",
    "at '/gateway/replicas': got string, want integer",
    "at '/gateway/service': additional properties 'tpye' not allowed",
    "at '/monitoring/rules/enabled': got string, want boolean",
    "at '/legacyImpersonation': value must be one of 'auto', 'always', 'never'",
    "at '/config/auth': additional properties 'accessKeyMaxTTLSecond' not allowed",
  ].filter((fault) => !stderr.includes(fault))
}

/** What Helm does not say of wrong values: an acceptance is the whole message. */
export async function unsaid(
  charts: ChartRenderer,
  chart: string,
  { values, says }: WrongValues,
): Promise<readonly string[]> {
  const { code, stderr } = await charts.dryRun(chart, values)
  return code !== 0 && stderr.includes(says) ? [] : [says]
}
