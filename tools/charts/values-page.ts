// The table of values in the README of a chart, from its schema and its defaults.
import { isMap } from '../../src/domain/json/json.ts'
import type { JsonSchema } from './config-schema.ts'

interface ValueSchema {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, ValueSchema>>
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, ValueSchema>>
}

type Values = Readonly<Record<string, unknown>>

/** A row for each value that is no group of others, in the order of the schema. */
export function valuesTable(schema: JsonSchema, defaults: Values): string {
  const { properties = {}, $defs = {} } = schema as ValueSchema
  const rows = Object.entries(properties)
    .filter(([name]) => name in defaults)
    .flatMap(([name, one]) =>
      rowsOf(name, one.$ref ? ofDefinition($defs, one.$ref) : one, defaults[name]),
    )
  return ['| value | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

/** Only the description: the fields of Config have a page of their own. */
const ofDefinition = (
  definitions: Readonly<Record<string, ValueSchema>>,
  ref: string,
): ValueSchema => {
  const { properties: _, ...rest } = definitions[ref.slice(ref.lastIndexOf('/') + 1)] ?? {}
  return rest
}

function rowsOf(path: string, schema: ValueSchema, value: unknown): readonly string[] {
  if (schema.properties && isMap(value))
    return Object.entries(schema.properties).flatMap(([name, one]) =>
      rowsOf(`${path}.${name}`, one, value[name]),
    )
  const choices = schema.enum?.filter((word) => word !== '').map((word) => `\`${word}\``) ?? []
  const isListed = choices.every((choice) => schema.description?.includes(choice))
  const meaning = isListed
    ? schema.description
    : `${schema.description} One of ${choices.join(', ')}.`
  return [`| \`${path}\` | \`${JSON.stringify(value)}\` | ${meaning} |`]
}
