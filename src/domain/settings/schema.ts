// The shape of settings: which types stand where (contract 6.2, 6.5).
import { type SettingsError, settingsErrors } from '../../api/config.check.gen.ts'
import { type SettingsSchema, configSettingsSchema } from '../../api/config.schema.gen.ts'
import { type FieldPath, pathFromPointer, pathText } from '../json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, mapFromEntries, ownValue } from '../json/json.ts'
import type { SchemaCheck } from './read-source.ts'
import { type SettingLeaf, isRedactedLeaf, mapLeaves } from './redaction.ts'

/** Every place where settings have a wrong type, and the right one; no message quotes the value. */
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

/** The entry for the anyOf as a whole says what its branches would say one by one. */
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

/** Settings of one source, and the places of fields that are no settings. */
export interface KnownSettings {
  readonly settings: JsonMap
  readonly unknown: readonly FieldPath[]
}

/** Deeper than any setting; it bounds what the objects of free form may nest. */
const DEEPEST = 32

/**
 * Tells the fields of the schema from unknown ones, which are dropped and reported (contract 6.5).
 * `__proto__` is never known, so no later copy of the settings can change a prototype.
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
      if (field !== undefined && name !== '__proto__' && inner.length <= DEEPEST)
        return [name, knownValue(value, field, inner, unknown)]
      unknown.push(inner)
      return [name, undefined]
    }),
  )
}

// undefined: there is no such field; null: any value is taken.
function fieldSchema(
  schema: SettingsSchema | null,
  name: string,
): SettingsSchema | null | undefined {
  if (schema?.properties)
    return ownValue(schema.properties as never, name) as SettingsSchema | undefined
  return schema?.additionalProperties ?? null
}

/**
 * The settings without what says nothing: null, empty texts, false (contract 1.2), 0 where it has
 * no meaning (6.5), hidden values outside lists (6.3), and maps in which nothing else is left.
 * Entries of lists stay, since an empty one is a fault; so do hidden values in them, since the list
 * takes the place of the one that has the secret.
 */
export const withoutUnset = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) =>
    saysNothing(leaf) || (isRedactedLeaf(leaf) && !isInList(leaf)) ? undefined : leaf.value,
  )

/** The settings without what says nothing, where what is hidden is lost, and so says nothing. */
export const withoutUnsetAndRedacted = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) =>
    saysNothing(leaf) || isRedactedLeaf(leaf) ? undefined : leaf.value,
  )

const isInList = ({ path }: SettingLeaf): boolean => path.some((step) => typeof step === 'number')

function saysNothing({ path, value, rule }: SettingLeaf): boolean {
  if (typeof path.at(-1) === 'number') return false
  if (value === '') return !rule.emptyCounts
  return value === null || value === false || (value === 0 && rule.zeroIsAbsent === true)
}
