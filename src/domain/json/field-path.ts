import { type Json, type JsonMap, isMap, mapFromEntries, ownValue } from './json.ts'

/** Where a value stands in the settings: names of fields and indexes of list entries. */
export type FieldPath = readonly (string | number)[]

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/
const LONGEST_NAME = 64

/**
 * The path as people write it, such as `auth.connectors[0].id`; empty for the root.
 *
 * A name that is no identifier is quoted and escaped (a header name may hold line breaks) and cut
 * after 64 characters (the name may be a secret that slipped).
 */
export const pathText = (path: FieldPath): string =>
  path.map((step, at) => stepText(step, at === 0)).join('')

function stepText(step: string | number, first: boolean): string {
  if (typeof step === 'number') return `[${step}]`
  const name = step.length > LONGEST_NAME ? `${step.slice(0, LONGEST_NAME)}…` : step
  if (!PLAIN_NAME.test(name)) return `[${JSON.stringify(name)}]`
  return first ? name : `.${name}`
}

/** The parts of a JSON pointer (RFC 6901). */
export const pointerSegments = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The path of a JSON pointer, the form in which schema validators name places. */
export const pathFromPointer = (pointer: string): FieldPath =>
  pointerSegments(pointer).map((step) => (/^\d+$/.test(step) ? Number(step) : step))

/** Whether a path's text is that of `outer` or of a place inside it. */
export const isInsidePath = (inner: string, outer: string): boolean =>
  inner.startsWith(outer) && /^([.[]|$)/.test(outer === '' ? '' : inner.slice(outer.length))

// Parts of an object that somebody else wrote: nothing is taken for granted, no prototype is touched (E7).

/** Where something stands in an object: names of fields. */
export type NamePath = readonly string[]

/** What stands there; undefined where there is nothing. */
export const nestedField = (value: Json | undefined, path: NamePath): Json | undefined =>
  path.reduce<Json | undefined>(
    (found, name) => (isMap(found) ? ownValue(found, name) : undefined),
    value,
  )

/** The text that stands there; empty where there is none. */
export function nestedString(value: Json | undefined, path: NamePath): string {
  const found = nestedField(value, path)
  return typeof found === 'string' ? found : ''
}

/** The map that stands there; an empty one where there is none. */
export function nestedMap(value: Json | undefined, path: NamePath): JsonMap {
  const found = nestedField(value, path)
  return isMap(found) ? found : {}
}

/** The texts of the list that stands there. */
export function nestedStringSlice(value: Json | undefined, path: NamePath): readonly string[] {
  const found = nestedField(value, path)
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : []
}

/** The same with that value there, or without one; what is missing on the way to a value is made. */
export const setNestedField = (map: JsonMap, path: NamePath, value: Json | undefined): JsonMap =>
  withFrom(0, map, path, value)

/** The same for the part of the path that begins at this place of it. */
function withFrom(place: number, map: JsonMap, path: NamePath, value: Json | undefined): JsonMap {
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
  return mapFromEntries(Object.hasOwn(map, name) ? changed : [...entries, [name, value]])
}
