import type { ConfigSettings } from '../../api/config.gen.ts'

/** Plain JSON. Settings stay in this form until they are known to be sound. */
export type Json = string | number | boolean | null | readonly Json[] | JsonMap

/** A JSON object. Read a name that somebody else chose with `own`: `map[name]` sees prototypes. */
export interface JsonMap {
  readonly [name: string]: Json
}

/** Whether the value is a JSON object: no list and not null. */
export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The JSON object that a text holds; null when it holds none. */
export function parseJsonMap(text: string): JsonMap | null {
  try {
    const value: unknown = JSON.parse(text)
    return isMap(value) ? value : null
  } catch {
    return null
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
export const mapOf = (entries: readonly (readonly [string, Json | undefined])[]): JsonMap =>
  Object.fromEntries(entries.filter((entry): entry is [string, Json] => entry[1] !== undefined))

/** Whether the map has no entries. */
export const isEmpty = (map: JsonMap): boolean => Object.keys(map).length === 0

/** JSON text with sorted names: equal settings give equal text, whichever source each came from. */
export function stableText(value: Json): string {
  if (isList(value)) return `[${value.map(stableText).join(',')}]`
  if (!isMap(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${stableText(value[name] ?? null)}`).join(',')}}`
}

/** Whether two values are equal, in whatever order their maps were written. */
export const sameJson = (a: Json, b: Json): boolean => stableText(a) === stableText(b)

/** Settings as plain JSON, to walk over. */
export const asJson = (settings: ConfigSettings): JsonMap => settings as unknown as JsonMap

/** JSON of the shape of settings; whoever calls has looked at the shape, or reads with care. */
export const asSettings = (json: JsonMap): ConfigSettings => json
