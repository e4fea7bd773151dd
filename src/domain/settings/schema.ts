// The schema of settings: types of fields, and which fields exist (contract 6.2, 6.5).
import { type SettingsError, settingsErrors } from '../../api/config.check.gen.ts'
import { type SettingsSchema, configSettingsSchema } from '../../api/config.schema.gen.ts'
import { type FieldPath, pathFromPointer, pathText } from '../json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, mapFromEntries, ownValue } from '../json/json.ts'

/** Checks a value against the schema of settings: paths as in faults, messages that never quote a value. */
export type SchemaCheck = (
  value: unknown,
) => readonly { readonly path: string; readonly message: string }[]

/** Every field of a wrong type, with the right type; no message quotes the value. */
export const checkSettingsSchema: SchemaCheck = (value) => {
  const errors = settingsErrors(value)
  const branches = errors.filter(isOfBranch)
  return errors
    .filter((error) => !isOfBranch(error))
    .map((error) => {
      const types =
        error.keyword === 'anyOf' ? typesOf(branchesOf(error, branches)) : typesOf([error])
      return { path: pathText(pathFromPointer(error.instancePath)), message: `must be ${types}` }
    })
}

/** Errors of single branches are left out: the error of the anyOf as a whole has the types of all. */
const isOfBranch = ({ schemaPath }: SettingsError): boolean => /\/anyOf\/\d+\//.test(schemaPath)

const branchesOf = (
  { instancePath, schemaPath }: SettingsError,
  branches: readonly SettingsError[],
): readonly SettingsError[] =>
  branches.filter(
    (branch) =>
      branch.instancePath === instancePath && branch.schemaPath.startsWith(`${schemaPath}/`),
  )

const typesOf = (errors: readonly SettingsError[]): string =>
  errors.map(({ params }) => String(params['type'])).join(' or ')

/** Settings of one source without unknown fields, and the paths of those. */
interface KnownSettings {
  readonly settings: JsonMap
  readonly unknown: readonly FieldPath[]
}

/** More levels than any setting has; the bound is for objects of free form. */
const MAX_DEPTH = 32

/**
 * Drops the fields that the schema does not have, and returns their paths (contract 6.5). `__proto__` is never known, so no later copy of the settings can change a prototype.
 */
export function splitUnknownFields(source: JsonMap): KnownSettings {
  const unknown: FieldPath[] = []
  const settings = knownMap(source, configSettingsSchema, [], unknown)
  return { settings, unknown }
}

function knownValue(
  value: Json,
  schema: SettingsSchema | null,
  path: FieldPath,
  unknown: FieldPath[],
): Json {
  if (isMap(value)) return knownMap(value, schema, path, unknown)
  if (!isList(value)) return value
  return value.map((entry, at) => knownValue(entry, schema?.items ?? null, [...path, at], unknown))
}

function knownMap(
  map: JsonMap,
  schema: SettingsSchema | null,
  path: FieldPath,
  unknown: FieldPath[],
): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, value]) => {
      const inner = [...path, name]
      const field = fieldSchema(schema, name)
      if (field !== undefined && name !== '__proto__' && inner.length <= MAX_DEPTH)
        return [name, knownValue(value, field, inner, unknown)]
      unknown.push(inner)
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
