// Parts of an object that somebody else wrote: nothing is taken for granted, no prototype is touched (E7).
import { type Json, type JsonMap, isMap, mapOf, ownValue } from './json.ts'

/** Where something stands in an object: names of fields. */
export type FieldPath = readonly string[]

/** What stands there; undefined where there is nothing. */
export const nestedField = (value: Json | undefined, path: FieldPath): Json | undefined =>
  path.reduce<Json | undefined>(
    (found, name) => (isMap(found) ? ownValue(found, name) : undefined),
    value,
  )

/** The text that stands there; empty where there is none. */
export function nestedString(value: Json | undefined, path: FieldPath): string {
  const found = nestedField(value, path)
  return typeof found === 'string' ? found : ''
}

/** The map that stands there; an empty one where there is none. */
export function nestedMap(value: Json | undefined, path: FieldPath): JsonMap {
  const found = nestedField(value, path)
  return isMap(found) ? found : {}
}

/** The texts of the list that stands there. */
export function nestedStrings(value: Json | undefined, path: FieldPath): readonly string[] {
  const found = nestedField(value, path)
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : []
}

/** The same with that value there, or without one; what is missing on the way to a value is made. */
export const setNestedField = (map: JsonMap, path: FieldPath, value: Json | undefined): JsonMap =>
  withFrom(0, map, path, value)

/** The same for the part of the path that begins at this place of it. */
function withFrom(place: number, map: JsonMap, path: FieldPath, value: Json | undefined): JsonMap {
  const name = path[place]
  if (name === undefined) return map
  if (place === path.length - 1) return withOwn(map, name, value)
  const inner = ownValue(map, name)
  if (value === undefined && !isMap(inner)) return map
  return withOwn(map, name, withFrom(place + 1, isMap(inner) ? inner : {}, path, value))
}

/** What stood there keeps its place among the names. */
function withOwn(map: JsonMap, name: string, value: Json | undefined): JsonMap {
  const entries = Object.entries(map)
  const changed = entries.map((entry) => (entry[0] === name ? ([name, value] as const) : entry))
  return mapOf(Object.hasOwn(map, name) ? changed : [...entries, [name, value]])
}
