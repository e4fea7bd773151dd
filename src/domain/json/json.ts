// JSON values of unknown shape: types, guards, comparison, and how messages quote them.
import type { ConfigSettings } from '../../api/config.gen.ts'

/** Plain JSON. Settings stay in this form until they are validated. */
export type Json = string | number | boolean | null | readonly Json[] | JsonMap

/** A JSON object. Read a name that a user chose with `ownValue`: `map[name]` also sees prototypes. */
export interface JsonMap {
  readonly [name: string]: Json
}

/** Whether the value is a JSON object: no list and not null. */
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

/** The map's own entry; undefined also for `constructor` and its like (threats E7). */
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

/** JSON text with sorted names: equal values give equal text, in whatever order they were written. */
export function canonicalJson(value: Json): string {
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isMap(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`).join(',')}}`
}

/** Whether two values are equal; the order of names in maps does not count. */
export const sameJson = (a: Json, b: Json): boolean => canonicalJson(a) === canonicalJson(b)

/** Typed settings as plain JSON. */
export const settingsToJson = (settings: ConfigSettings): JsonMap => settings as unknown as JsonMap

/** Plain JSON as typed settings. No check: the caller has validated the types, or reads with care. */
export const jsonToSettings = (json: JsonMap): ConfigSettings => json

const LONGEST_QUOTE = 64

/** A value for messages: quoted, escaped, and cut after 64 characters. */
export const quoteForMessage = (text: string): string =>
  JSON.stringify(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text)
