// Checks settings against their schema: which fields exist, and their types (contract 6.2, 6.5).
import { type SettingsError, settingsErrors } from '../../api/config.check.gen.ts'
import { type SettingsSchema, configSettingsSchema } from '../../api/config.schema.gen.ts'
import { isSimilarName } from './similar-name.ts'
import { type FieldPath, pathFromPointer, pathText } from '../json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, mapFromEntries, ownValue } from '../json/json.ts'

/** Checks a value against the schema of settings. Paths are texts as in faults; no message quotes a value. */
export type SchemaCheck = (
  value: unknown,
) => readonly { readonly path: string; readonly message: string }[]

/** Reports every field of a wrong type, with the right type; no message quotes the value. */
export const checkSettingsSchema: SchemaCheck = (value) => {
  const errors = settingsErrors(value)
  const branches = errors.filter(isBranchError)
  return errors
    .filter((error) => !isBranchError(error))
    .map((error) => {
      const types =
        error.keyword === 'anyOf' ? typesOf(branchesOf(error, branches)) : typesOf([error])
      return { path: pathText(pathFromPointer(error.instancePath)), message: `must be ${types}` }
    })
}

/** Whether the error is of one branch of an anyOf; such errors are merged into the error of the anyOf. */
const isBranchError = ({ schemaPath }: SettingsError): boolean => /\/anyOf\/\d+\//.test(schemaPath)

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
