// The schemas that kubeconform checks against: a running API server's, its CRDs included.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The answer of `/openapi/v2` of an API server, as far as it is needed. */
export interface OpenApi {
  readonly definitions: Readonly<Record<string, Definition>>
}

/** One schema. */
export interface Definition {
  readonly [keyword: string]: unknown
}

interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

const DEFINITIONS = '#/definitions/'
const KINDS = 'x-kubernetes-group-version-kind'
const OPEN = 'x-kubernetes-preserve-unknown-fields'

/** The value of kubeconform's --schema-location for a folder of such files. */
export const schemaLocation = (folder: string): string =>
  join(folder, '{{ .ResourceKind }}{{ .KindSuffix }}.json')

/** Writes a file for each kind into the folder, which is created when absent. */
export function writeSchemas(folder: string, openApi: OpenApi): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(schemaFiles(openApi)))
    writeFileSync(join(folder, name), JSON.stringify(content))
}

/** The files by name, one for each kind. Each is whole, as kubeconform reads it again for each object. */
export function schemaFiles({ definitions }: OpenApi): Readonly<Record<string, unknown>> {
  const closed = Object.fromEntries(
    Object.entries(definitions).map(([name, schema]) => [name, strict(name, schema)]),
  )
  const files: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(definitions)) {
    for (const kind of (schema[KINDS] ?? []) as readonly GroupVersionKind[])
      files[fileOf(kind)] = { $ref: `${DEFINITIONS}${name}`, definitions: reached(name, closed) }
  }
  return files
}

/** A definition with those that it refers to, directly or not. */
function reached(name: string, all: OpenApi['definitions']): OpenApi['definitions'] {
  const found: Record<string, Definition> = {}
  const waiting = [name]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const definition = all[next]
    if (definition === undefined || next in found) continue
    found[next] = definition
    waiting.push(...referencesIn(definition))
  }
  return found
}

const referencesIn = (definition: Definition): readonly string[] =>
  [...JSON.stringify(definition).matchAll(REFERENCE)].map(([, name]) => name ?? '')

const REFERENCE = /"\$ref":"#\/definitions\/([^"]+)"/g

/** As kubeconform puts a name together: the kind, the first word of its group, its version. */
function fileOf({ group, version, kind }: GroupVersionKind): string {
  const [word = ''] = group.split('.')
  return `${[kind.toLowerCase(), ...(word === '' ? [] : [word]), version].join('-')}.json`
}

/**
 * The schema, made strict: an object with properties accepts no others, and a number or a text has its type.
 *
 * @param name the name of a definition; empty within one
 */
function strict(name: string, schema: Definition): Definition {
  if (schema['format'] === 'int-or-string') return oneOf(schema, ['string', 'integer'])
  if (name.endsWith('resource.Quantity')) return oneOf(schema, ['string', 'number'])
  const { properties, items, additionalProperties, ...rest } = schema
  const isOpen = properties === undefined || schema[OPEN] === true
  const others = additionalProperties === undefined ? isOpen : within(additionalProperties)
  return {
    ...rest,
    ...(properties !== undefined && { properties: eachWithin(properties) }),
    ...(items !== undefined && { items: within(items) }),
    additionalProperties: others,
  }
}

/** `additionalProperties` may also be a plain yes or no. */
const within = (schema: unknown): unknown =>
  schema !== null && typeof schema === 'object' ? strict('', schema as Definition) : schema

const eachWithin = (properties: unknown): unknown =>
  Object.fromEntries(
    Object.entries(properties as Definition).map(([name, schema]) => [name, within(schema)]),
  )

function oneOf(schema: Definition, types: readonly string[]): Definition {
  const { type: _type, format: _format, ...rest } = schema
  return { ...rest, oneOf: types.map((type) => ({ type })) }
}
