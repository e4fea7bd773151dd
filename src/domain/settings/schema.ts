// Checks settings against their schema: which fields exist, and their types (contract 6.2, 6.5).
import { type SettingsSchema, configSettingsSchema } from '../../api/config.schema.gen.ts'
import { isSimilarName } from './similar-name.ts'
import { type FieldPath, pathText } from '../json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, mapFromEntries, ownValue } from '../json/json.ts'

/** Checks a value against the schema of settings. Paths are texts as in faults; no message quotes a value. */
export type SchemaCheck = (
  value: unknown,
) => readonly { readonly path: string; readonly message: string }[]

/** Reports every field of a wrong type, with the right type; no message quotes the value. Unknown fields pass. */
export const checkSettingsSchema: SchemaCheck = (value) =>
  wrongTypes(value as Json, configSettingsSchema, []).map(({ path, right }) => ({
    path: pathText(path),
    message: `must be ${right}`,
  }))

/** A value of a wrong type. */
interface WrongType {
  readonly path: FieldPath
  /** The type that would be right, such as `integer or string`. */
  readonly right: string
}

function wrongTypes(value: Json, schema: SettingsSchema, path: FieldPath): readonly WrongType[] {
  const right = [schema, ...(schema.anyOf ?? [])].flatMap(({ type }) => type ?? [])
  if (!right.some((type) => IS_TYPE[type](value))) return [{ path, right: right.join(' or ') }]
  const { items } = schema
  if (isList(value))
    return items ? value.flatMap((entry, at) => wrongTypes(entry, items, [...path, at])) : []
  if (!isMap(value)) return []
  return Object.keys(schema.properties ?? value).flatMap((name) => {
    const [field, known] = [ownValue(value, name), fieldSchema(schema, name)]
    return field === undefined || !known ? [] : wrongTypes(field, known, [...path, name])
  })
}

const IS_TYPE: Readonly<Record<NonNullable<SettingsSchema['type']>, (value: Json) => boolean>> = {
  object: isMap,
  array: isList,
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
}

/** Settings of one source without unknown fields, and the paths of the unknown fields. */
interface KnownSettings {
  readonly settings: JsonMap
  readonly unknown: readonly UnknownPath[]
}

/** A field that the schema does not have. */
export interface UnknownPath {
  readonly path: FieldPath
  /** The known field beside it whose name differs only by case and one letter; null = there is none. */
  readonly meant: string | null
}

/** Limit on nesting for objects of free form; no setting has as many levels. */
const MAX_DEPTH = 32

/**
 * Drops the fields that the schema does not have, and returns their paths (contract 6.5). `__proto__` is always
 * dropped, so that no later copy of the settings can change a prototype.
 */
export function splitUnknownFields(source: JsonMap): KnownSettings {
  const unknown: UnknownPath[] = []
  const settings = knownMap(source, configSettingsSchema, [], unknown)
  return { settings, unknown }
}

function knownValue(
  value: Json,
  schema: SettingsSchema | null,
  path: FieldPath,
  unknown: UnknownPath[],
): Json {
  if (isMap(value)) return knownMap(value, schema, path, unknown)
  if (!isList(value)) return value
  return value.map((entry, at) => knownValue(entry, schema?.items ?? null, [...path, at], unknown))
}

function knownMap(
  map: JsonMap,
  schema: SettingsSchema | null,
  path: FieldPath,
  unknown: UnknownPath[],
): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, value]) => {
      const fieldPath = [...path, name]
      const field = fieldSchema(schema, name)
      if (field !== undefined && name !== '__proto__' && fieldPath.length <= MAX_DEPTH)
        return [name, knownValue(value, field, fieldPath, unknown)]
      unknown.push({ path: fieldPath, meant: similarField(schema, name) })
      return [name, undefined]
    }),
  )
}

// undefined = no such field; null = the schema accepts any value.
function fieldSchema(
  schema: SettingsSchema | null,
  name: string,
): SettingsSchema | null | undefined {
  if (schema?.properties)
    return ownValue(schema.properties as never, name) as SettingsSchema | undefined
  return schema?.additionalProperties ?? null
}

function similarField(schema: SettingsSchema | null, name: string): string | null {
  const known = Object.keys(schema?.properties ?? {})
  return known.find((field) => isSimilarName(field, name)) ?? null
}
