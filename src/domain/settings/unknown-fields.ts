import { type SettingsSchema, configSettingsSchema } from '../../api/config.schema.gen.ts'
import { type Json, type JsonMap, isList, isMap, mapOf, ownValue } from '../json/json.ts'
import type { SettingPath } from '../json/pointer.ts'
import { type Leaf, isHidden, mapLeaves } from './walk.ts'

/** Settings of one source, and the places of fields that are no settings. */
export interface Known {
  readonly settings: JsonMap
  readonly unknown: readonly SettingPath[]
}

/** Deeper than any setting; it bounds what the objects of free form may nest. */
const DEEPEST = 32

/**
 * Tells the fields of the schema from unknown ones, which are dropped and reported (contract 6.5).
 * `__proto__` is never known, so no later copy of the settings can change a prototype.
 */
export function knownFields(source: JsonMap): Known {
  const unknown: SettingPath[] = []
  const settings = knownMap(source, configSettingsSchema, [], unknown)
  return { settings, unknown }
}

function knownValue(
  value: Json,
  schema: SettingsSchema | null,
  path: SettingPath,
  unknown: SettingPath[],
): Json {
  if (isMap(value)) return knownMap(value, schema, path, unknown)
  if (!isList(value)) return value
  return value.map((entry, at) => knownValue(entry, schema?.items ?? null, [...path, at], unknown))
}

function knownMap(
  map: JsonMap,
  schema: SettingsSchema | null,
  path: SettingPath,
  unknown: SettingPath[],
): JsonMap {
  return mapOf(
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
export const cleaned = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) =>
    saysNothing(leaf) || (isHidden(leaf) && !isInList(leaf)) ? undefined : leaf.value,
  )

/** The settings without what says nothing, where what is hidden is lost, and so says nothing. */
export const cleanedRecord = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) => (saysNothing(leaf) || isHidden(leaf) ? undefined : leaf.value))

const isInList = ({ path }: Leaf): boolean => path.some((step) => typeof step === 'number')

function saysNothing({ path, value, rule }: Leaf): boolean {
  if (typeof path.at(-1) === 'number') return false
  if (value === '') return !rule.emptyCounts
  return value === null || value === false || (value === 0 && rule.zeroIsAbsent === true)
}
