// Paths of fields in JSON objects, as in k8s.io/apimachinery: field.Path, JSON pointers and unstructured.NestedField.
// The objects may have any shape: a missing field is undefined, and prototypes are neither read nor changed.
import { type Json, type JsonMap, isList, isMap, mapFromEntries, ownValue } from './json.ts'

/** Names of fields and indexes of list entries, from the top of the object. */
export type FieldPath = readonly (string | number)[]

/** A path through maps only. In the segments of a JSON pointer, list indexes are text too. */
export type NamePath = readonly string[]

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/
const MAX_NAME_LENGTH = 64

/**
 * The path as text, such as `auth.connectors[0].id`; empty for the root. A name that is not an identifier is quoted
 * and escaped, because it may contain line breaks. Names are cut after 64 characters: one may be a misplaced secret.
 */
export const pathText = (path: FieldPath): string =>
  path.map((step, at) => stepText(step, at === 0)).join('')

function stepText(step: string | number, isFirst: boolean): string {
  if (typeof step === 'number') return `[${step}]`
  const name = step.length > MAX_NAME_LENGTH ? `${step.slice(0, MAX_NAME_LENGTH)}…` : step
  if (!PLAIN_NAME.test(name)) return `[${JSON.stringify(name)}]`
  return isFirst ? name : `.${name}`
}

/** The unescaped segments of a JSON pointer (RFC 6901). */
export const pointerSegments = (pointer: string): NamePath =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** Whether `inner` equals `outer` or is a path inside it; both are texts from `pathText`. */
export const isInsidePath = (inner: string, outer: string): boolean =>
  inner.startsWith(outer) && /^([.[]|$)/.test(outer === '' ? '' : inner.slice(outer.length))

/** The value at the path; undefined when there is none. */
export const nestedField = (value: Json | undefined, path: FieldPath): Json | undefined =>
  path.reduce<Json | undefined>((found, step) => {
    if (typeof step === 'number') return isList(found) ? found[step] : undefined
    return isMap(found) ? ownValue(found, step) : undefined
  }, value)

/** The string at the path; empty when there is none. */
export function nestedString(value: Json | undefined, path: FieldPath): string {
  const found = nestedField(value, path)
  return typeof found === 'string' ? found : ''
}

/** The map at the path; an empty one when there is none. */
export function nestedMap(value: Json | undefined, path: FieldPath): JsonMap {
  const found = nestedField(value, path)
  return isMap(found) ? found : {}
}

/** The strings in the list at the path, without its other entries; empty when there is no list. */
export function nestedStringSlice(value: Json | undefined, path: FieldPath): readonly string[] {
  const found = nestedField(value, path)
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : []
}

/**
 * A copy of the map with the value at the path; undefined removes the field. Creates missing maps along the path; a
 * changed field keeps its position among the names.
 */
export const setNestedField = (map: JsonMap, path: NamePath, value: Json | undefined): JsonMap =>
  setFromDepth(0, map, path, value)

function setFromDepth(
  depth: number,
  map: JsonMap,
  path: NamePath,
  value: Json | undefined,
): JsonMap {
  const name = path[depth]
  if (name === undefined) return map
  if (depth === path.length - 1) return withEntry(map, name, value)
  const inner = ownValue(map, name)
  if (value === undefined && !isMap(inner)) return map
  return withEntry(map, name, setFromDepth(depth + 1, isMap(inner) ? inner : {}, path, value))
}

function withEntry(map: JsonMap, name: string, value: Json | undefined): JsonMap {
  // A computed name defines a property, also `__proto__`.
  if (value !== undefined) return { ...map, [name]: value }
  return mapFromEntries(Object.entries(map).filter(([one]) => one !== name))
}
