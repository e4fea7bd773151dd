// JSON values of unknown shape: types, type guards, comparison, and quoting in messages.
import type { ConfigSettings } from '../../api/config.gen.ts'
import type { Scope } from '../../api/scope.gen.ts'

/** Plain JSON. Settings stay in this form until they are validated. */
export type Json = string | number | boolean | null | readonly Json[] | JsonMap

/** A JSON object. Read a name that a user chose with `ownValue`: `map[name]` also sees prototypes. */
export interface JsonMap {
  readonly [name: string]: Json
}

/** Whether the value is a JSON object: neither a list nor null. */
export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The JSON object in a text; null when the text is invalid or holds another value. */
export function parseJsonMap(text: string): JsonMap | null {
  const value = parseJson(text)
  return isMap(value) ? value : null
}

/** The JSON value of a text; undefined when the text is absent or no valid JSON. */
export function parseJson(text: string | undefined): Json | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}

/** Whether the value is a JSON list. */
export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

/** The map's own entry; undefined when absent, also for inherited names such as `constructor`. */
export const ownValue = (map: JsonMap, name: string): Json | undefined =>
  Object.hasOwn(map, name) ? map[name] : undefined

/**
 * A map of these entries without the undefined ones. Object.fromEntries defines properties, so an
 * entry named `__proto__` becomes a property and changes no prototype.
 */
export const mapFromEntries = (
  entries: readonly (readonly [string, Json | undefined])[],
): JsonMap =>
  Object.fromEntries(entries.filter((entry): entry is [string, Json] => entry[1] !== undefined))

/** Whether the map has no entries. */
export const isEmptyMap = (map: JsonMap): boolean => Object.keys(map).length === 0

/** JSON text with sorted names: equal values give equal text, whatever the order of their names. */
export function canonicalJson(value: Json): string {
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isMap(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`).join(',')}}`
}

/** Whether two values are equal; the order of names in maps does not count. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true
  if (isList(a))
    return isList(b) && a.length === b.length && a.every((one, at) => sameJson(one, b[at] ?? null))
  if (!isMap(a) || !isMap(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameJson(a[name] ?? null, b[name] ?? null))
  )
}

/** Typed settings as plain JSON. */
export const settingsToJson = (settings: ConfigSettings): JsonMap => settings as unknown as JsonMap

/** Casts plain JSON to typed settings without a check: the caller has validated it, or handles wrong types. */
export const jsonToSettings = (json: JsonMap): ConfigSettings => json

const MAX_QUOTE_LENGTH = 64

/** Quotes a text for a message: escaped, and cut after 64 characters. */
export const quoteForMessage = (text: string): string =>
  JSON.stringify(text.length > MAX_QUOTE_LENGTH ? `${text.slice(0, MAX_QUOTE_LENGTH)}…` : text)

// Fields of objects that may violate the schema: a write directly to etcd bypasses validation (contract 10.3).

/** The fields of a type, with unchecked values. */
export type Untyped<Fields> = { readonly [Name in keyof Fields]?: unknown }

/** The fields of a spec or status; empty when the value is not an object. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  isMap(value) ? value : {}

/** Whether the field is absent: the API server treats null as absent. */
export const isAbsent = (value: unknown): value is null | undefined =>
  value === undefined || value === null

/** The value if it is a string; undefined for any other value. */
export const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Whether the value is absent or a string. */
export const isStringOrAbsent = (value: unknown): boolean =>
  isAbsent(value) || typeof value === 'string'

/** The value as a list of strings; empty when absent, null for any other value. */
export function stringsOf(value: unknown): readonly string[] | null {
  if (isAbsent(value)) return NO_STRINGS
  const isStringList = Array.isArray(value) && value.every((one) => typeof one === 'string')
  return isStringList ? value : null
}

/** One empty list for all objects without strings, to save memory. */
const NO_STRINGS: readonly string[] = []

/** The entries of a list that pass: the list itself where all do, as `filter` leaves room for 16 more in every store. */
export const passing = <T>(list: readonly T[], passes: (entry: T) => boolean): readonly T[] =>
  list.every(passes) ? list : list.filter(passes)

/** The entries of a map that pass: the map itself where all do, and one empty map where none does, to save memory. */
export function entriesPassing<T>(
  map: Readonly<Record<string, T>>,
  passes: (name: string, value: T) => boolean,
): Readonly<Record<string, T>> {
  const entries = Object.entries(map)
  const passed = entries.filter(([name, value]) => passes(name, value))
  if (passed.length === 0) return NO_ENTRIES
  return passed.length === entries.length ? map : Object.fromEntries(passed)
}

const NO_ENTRIES: Readonly<Record<string, never>> = {}

/** The value as whole seconds, 0 or more; 0 when absent, null for any other value. */
export function secondsOf(value: unknown): number | null {
  if (isAbsent(value)) return 0
  return Number.isInteger(value) && Number(value) >= 0 ? Number(value) : null
}

/** A scope without entries grants nothing. */
const EMPTY_SCOPE: Scope = {}

/** The value as a scope; null when absent. A value that is not an object becomes a scope that grants nothing (11.1). */
export function scopeOf(value: unknown): Scope | null {
  if (isAbsent(value)) return null
  return isMap(value) ? value : EMPTY_SCOPE
}

/** The objects in a list, each with its index; skips other entries, and is empty for a value that is not a list. */
export function indexedMaps<T extends object>(
  list: readonly T[] | undefined,
): readonly (readonly [number, T])[] {
  if (!Array.isArray(list)) return []
  return (list as readonly T[])
    .map((entry, at) => [at, entry] as const)
    .filter(([, entry]) => typeof entry === 'object' && entry !== null)
}

/** The strings in a list, each with its index; skips other entries, and is empty for a value that is not a list. */
export function indexedStrings(
  list: readonly string[] | undefined,
): readonly (readonly [number, string])[] {
  if (!Array.isArray(list)) return []
  return (list as readonly string[])
    .map((entry, at) => [at, entry] as const)
    .filter(([, entry]) => typeof entry === 'string')
}
