// Objects as a watch may deliver them: what is written past the API server meets no schema (contract 10.3).
import type { Scope } from '../api/scope.gen.ts'
import { isMap } from './config/json.ts'

/** The fields of a type, with values that nobody has looked at. */
export type Untyped<Fields> = { readonly [Name in keyof Fields]?: unknown }

/** The fields of a spec or status; none where it is no object. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  isMap(value) ? value : {}

/** Whether the field is not there: the API server takes null for absent. */
export const isAbsent = (value: unknown): value is null | undefined =>
  value === undefined || value === null

/** The text; undefined where there is none, or something else. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Whether the value is absent or a text. */
export const isTextOrAbsent = (value: unknown): boolean =>
  isAbsent(value) || typeof value === 'string'

/** The texts of a list, which is empty when it is absent; null where the value is anything else. */
export function textsOf(value: unknown): readonly string[] | null {
  if (isAbsent(value)) return NO_TEXTS
  const isSound = Array.isArray(value) && value.every((one) => typeof one === 'string')
  return isSound ? value : null
}

/** Shared by the many objects without any. */
const NO_TEXTS: readonly string[] = []

/** A number of seconds; null where it is anything else. Absent it is 0. */
export function secondsOf(value: unknown): number | null {
  if (isAbsent(value)) return 0
  return Number.isInteger(value) && Number(value) >= 0 ? Number(value) : null
}

/** Sets nothing, so it grants nothing. */
const NOTHING: Scope = {}

/** null where there is none; what is no object grants nothing (contract 11.1). */
export function scopeOf(value: unknown): Scope | null {
  if (isAbsent(value)) return null
  return isMap(value) ? value : NOTHING
}
