// Values that a chart can't do without. Pure.
import { isMap } from '../../src/domain/json/json.ts'
import type { JsonSchema } from './config-schema.ts'

interface GroupSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

/**
 * The schema with `required` in each group of values.
 *
 * `--set networkPolicy.enabled=null` takes a default away, and a template takes what is absent for `false` or zero: the
 * policies would be gone. Lists, free maps and empty words may be absent, which is what they mean.
 *
 * @param defaults the values of values.yaml, on the level of the schema
 */
export function withRequired(schema: JsonSchema, defaults: unknown): JsonSchema {
  const { properties } = schema as GroupSchema
  if (properties === undefined || !isMap(defaults)) return schema
  const { required: _, ...rest } = schema
  const required = Object.entries(properties)
    .filter(([name, one]) => isNeeded(one, defaults[name]))
    .map(([name]) => name)
  const below = Object.entries(properties).map(([name, one]) => [
    name,
    withRequired(one, defaults[name]),
  ])
  return { ...rest, properties: Object.fromEntries(below), required }
}

function isNeeded(schema: JsonSchema, value: unknown): boolean {
  if (isMap(value)) return (schema as GroupSchema).properties !== undefined
  return value !== undefined && value !== '' && !Array.isArray(value)
}
