import type { ConfigSettings } from '../../api/config.gen.ts'
import type { AllowedValues } from '../scope/rule.ts'

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
export const mapFromEntries = (
  entries: readonly (readonly [string, Json | undefined])[],
): JsonMap =>
  Object.fromEntries(entries.filter((entry): entry is [string, Json] => entry[1] !== undefined))

/** Whether the map has no entries. */
export const isEmptyMap = (map: JsonMap): boolean => Object.keys(map).length === 0

/** JSON text with sorted names: equal settings give equal text, whichever source each came from. */
export function canonicalJson(value: Json): string {
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isMap(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`).join(',')}}`
}

/** Whether two values are equal, in whatever order their maps were written. */
export const sameJson = (a: Json, b: Json): boolean => canonicalJson(a) === canonicalJson(b)

/** Settings as plain JSON, to walk over. */
export const settingsToJson = (settings: ConfigSettings): JsonMap => settings as unknown as JsonMap

/** JSON of the shape of settings; whoever calls has looked at the shape, or reads with care. */
export const jsonToSettings = (json: JsonMap): ConfigSettings => json

/** Why an entry of the parent does not cover an entry of the child. */
export interface CoverageGap {
  /** Number of checks that passed before: of several gaps, the message shows the deepest. */
  readonly depth: number
  /** A clause about the child's entry. */
  readonly because: string
}

/** The part of the child that exceeds the parent, as a clause; null = none. */
export type CoverageCheck<Child, Parent> = (child: Child, parent: Parent) => string | null

/** The first gap that a check finds; null when the parent covers the child. */
export function firstCoverageGap<Child, Parent>(
  checks: readonly CoverageCheck<Child, Parent>[],
  child: Child,
  parent: Parent,
): CoverageGap | null {
  for (const [depth, check] of checks.entries()) {
    const because = check(child, parent)
    if (because !== null) return { depth, because }
  }
  return null
}

/** The first value of the child's list that the parent's lacks, as a clause; null = none. */
export function uncoveredValue(
  field: string,
  child: AllowedValues,
  parent: AllowedValues,
): string | null {
  if (coversAllValues(child, parent)) return null
  const value = [...(child ?? [])].find((one) => !parent?.has(one))
  return value === undefined ? noLimitClause(field) : valueClause(field, value)
}

/** Whether the parent's limit allows every value that the child's allows. */
export const coversAllValues = (child: AllowedValues, parent: AllowedValues): boolean =>
  parent === null || (child !== null && [...child].every((one) => parent.has(one)))

/** Clause for a list that is absent or empty while the parent's is not. */
export const noLimitClause = (field: string): string => `its ${field} set no limit`

/** Clause for a value that the parent's list does not have. */
export const valueClause = (field: string, value: string): string =>
  `its ${field} have ${quoteForMessage(value)}`

const LONGEST = 64

/** A value for messages: quoted, escaped, and cut after 64 characters. */
export const quoteForMessage = (text: string): string =>
  JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)
