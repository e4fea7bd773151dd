// Structural schemas -> TypeScript interfaces. `title` names the interface, `description` documents it.

import { isDeepStrictEqual } from 'node:util'
import type { Schema } from './crd.ts'
import { docstring } from './docstring.ts'

/** Schemas of objects with fields, by the name of their interface, in the order of reading. */
export type Interfaces = ReadonlyMap<string, Schema>

/**
 * Every schema in and below `roots` that becomes an interface.
 *
 * Those named in `elsewhere` are declared in other files and not entered. Throws where an object has
 * fields and no title, and where two schemas under one title differ.
 */
export function collectInterfaces(
  roots: readonly Schema[],
  elsewhere: readonly string[],
): Interfaces {
  const found = new Map<string, Schema>()
  const visit = (schema: Schema): void => {
    if (schema.properties) {
      const name = nameOf(schema)
      if (elsewhere.includes(name)) return
      if (found.has(name)) return mustEqual(name, schema, found.get(name))
      found.set(name, schema)
    }
    for (const child of children(schema)) visit(child)
  }
  for (const root of roots) visit(root)
  return found
}

/** Whether a field of one of these interfaces, or an element of it, has the type `name`. */
export function refersTo(interfaces: Interfaces, name: string): boolean {
  return [...interfaces.values()]
    .flatMap(children)
    .some((field) => (field.items ?? field).title === name)
}

/** The declaration of an interface; with `base`, without the fields that this one declares. */
export function renderInterface(schema: Schema, base?: Schema): string {
  const fields = Object.entries(schema.properties ?? {})
    .filter(([name]) => !Object.hasOwn(base?.properties ?? {}, name))
    .map(([name, field]) => renderField(name, field, schema.required?.includes(name) ?? false))
  const heritage = base ? ` extends ${nameOf(base)}` : ''
  return `${docstring(schema.description)}
export interface ${nameOf(schema)}${heritage} {
${fields.join('\n')}
}
`
}

function mustEqual(name: string, schema: Schema, other: unknown): void {
  if (!isDeepStrictEqual(schema, other))
    throw new Error(`two different schemas have the title ${name}: make them equal or rename one`)
}

function renderField(name: string, schema: Schema, isRequired: boolean): string {
  const mark = isRequired ? '' : '?'
  return `${docstring(schema.description, '  ')}\n  readonly ${name}${mark}: ${typeOf(schema)}`
}

const TYPES: Readonly<Record<NonNullable<Schema['type']>, (schema: Schema) => string>> = {
  string: () => 'string',
  boolean: () => 'boolean',
  integer: () => 'number',
  array: ({ items }) => `readonly (${items ? typeOf(items) : 'unknown'})[]`,
  object: (schema) => (schema.properties ? nameOf(schema) : recordOf(schema)),
}

function typeOf(schema: Schema): string {
  if (schema['x-kubernetes-int-or-string']) return 'number | string'
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ')
  if (schema.type) return TYPES[schema.type](schema)
  throw new Error(`a field needs a type: ${schema.description}`)
}

function recordOf({ additionalProperties }: Schema): string {
  return `Readonly<Record<string, ${additionalProperties ? typeOf(additionalProperties) : 'unknown'}>>`
}

function nameOf({ title, description }: Schema): string {
  if (title) return title
  throw new Error(`an object with fields needs a title, which names its interface: ${description}`)
}

function children({ properties, additionalProperties, items }: Schema): readonly Schema[] {
  return [...Object.values(properties ?? {}), additionalProperties, items].filter(
    (child) => child !== undefined,
  )
}
