// Schemas of the kinds: the fields that the API server publishes for `kubectl explain`, and an example of a schema.

import type { Schema } from '../../../tools/generate/crd.ts'

interface PublishedSchema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, PublishedSchema>>
  readonly items?: PublishedSchema
  readonly additionalProperties?: PublishedSchema
}

/** The OpenAPI document of our API group. */
export interface PublishedKinds {
  readonly components: { readonly schemas: Readonly<Record<string, PublishedSchema>> }
}

/** A field by its path, with its description. */
export interface PublishedField {
  readonly path: string
  readonly description: string | undefined
}

/** Every field of a kind, at any depth; undefined while the kind is not published. */
export function fieldsOf(
  { components }: PublishedKinds,
  kind: string,
): readonly PublishedField[] | undefined {
  const schema = components.schemas[`sh.platform.management.v1.${kind}`]
  return schema?.properties && [...fieldsBelow(schema, kind)]
}

function* fieldsBelow(schema: PublishedSchema, path: string): Generator<PublishedField> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    yield { path: `${path}.${name}`, description: field.description }
    yield* fieldsBelow(field, `${path}.${name}`)
  }
  for (const inner of [schema.items, schema.additionalProperties]) {
    if (inner) yield* fieldsBelow(inner, path)
  }
}

/** A value that sets every field of the schema. */
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

/** The short name of each kind, and the columns of `kubectl get`: an object without a status fills the first and the last. */
export const NEW_OBJECTS = [
  {
    kind: 'OwnedAccessKey',
    short: 'oak',
    columns: ['NAME', 'READY', 'REASON', 'IDENTITY', 'TYPE', 'EXPIRES', 'LAST ACTIVITY', 'AGE'],
  },
  {
    kind: 'DirectClusterEndpointToken',
    short: 'dcet',
    columns: ['NAME', 'READY', 'REASON', 'EXPIRES', 'AGE'],
  },
  {
    kind: 'Config',
    short: 'configs.management.platform.sh',
    columns: ['NAME', 'READY', 'MAX TTL', 'AGE'],
  },
  {
    kind: 'User',
    short: 'users.management.platform.sh',
    columns: ['NAME', 'READY', 'REASON', 'USERNAME', 'LAST SIGN-IN', 'AGE'],
  },
  {
    kind: 'Team',
    short: 'teams.management.platform.sh',
    columns: ['NAME', 'READY', 'NAME', 'AGE'],
  },
  {
    kind: 'AccessKeyClaim',
    short: 'akc',
    columns: ['NAME', 'READY', 'REASON', 'SECRET', 'EXPIRES', 'NEXT ROTATION', 'AGE'],
  },
]
