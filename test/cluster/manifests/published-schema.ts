// What the API server publishes about a kind: the source of `kubectl explain`.

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
}

/** The OpenAPI document of our API group. */
export interface PublishedKinds {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** A field by its path, with its text. */
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

function* fieldsBelow(schema: Schema, path: string): Generator<PublishedField> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    yield { path: `${path}.${name}`, description: field.description }
    yield* fieldsBelow(field, `${path}.${name}`)
  }
  for (const inner of [schema.items, schema.additionalProperties]) {
    if (inner) yield* fieldsBelow(inner, path)
  }
}
