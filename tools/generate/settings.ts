// A structural schema for validators outside the API server.

import type { Schema } from './crd.ts'

/** A structural schema of types only, without descriptions, formats and Kubernetes' own keywords. */
export function plainSchema(schema: Schema): object {
  if (schema['x-kubernetes-int-or-string'])
    return { anyOf: [{ type: 'integer' }, { type: 'string' }] }
  const { type, properties, additionalProperties, items } = schema
  return {
    type,
    properties: properties && mapValues(properties, plainSchema),
    additionalProperties: additionalProperties && plainSchema(additionalProperties),
    items: items && plainSchema(items),
  }
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A) => B) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}
