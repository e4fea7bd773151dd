// An object that sets every field of a schema.

import type { Schema } from '../../../tools/generate/crd.ts'

/** A value of the schema in which nothing is left out. */
export function exampleOf(schema: Schema): unknown {
  const { type, properties, additionalProperties, items } = schema
  if (schema['x-kubernetes-int-or-string']) return '500m'
  if (properties) {
    const fields = Object.entries(properties).map(([name, field]) => [name, exampleOf(field)])
    return Object.fromEntries(fields)
  }
  if (items) return [exampleOf(items)]
  if (type === 'object')
    return { any: additionalProperties ? exampleOf(additionalProperties) : 1.5 }
  if (type === 'integer') return 7
  return type === 'boolean' ? true : 'text'
}
