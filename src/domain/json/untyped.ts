// Objects as a watch may deliver them: a write directly to etcd meets no schema (contract 10.3).
import type { Scope } from '../../api/scope.gen.ts'
import { isMap } from './json.ts'

/** The fields of a type, with unchecked values. */
export type Untyped<Fields> = { readonly [Name in keyof Fields]?: unknown }

/** The fields of a spec or status; none when it is no object. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  isMap(value) ? value : {}

/** Whether the field is absent: the API server treats null as absent. */
export const isAbsent = (value: unknown): value is null | undefined =>
  value === undefined || value === null

/** The text; undefined for any other value. */
export const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Whether the value is absent or a text. */
export const isStringOrAbsent = (value: unknown): boolean =>
  isAbsent(value) || typeof value === 'string'

/** The texts of a list; empty when absent, null for any other value. */
export function stringsOf(value: unknown): readonly string[] | null {
  if (isAbsent(value)) return NO_TEXTS
  const isSound = Array.isArray(value) && value.every((one) => typeof one === 'string')
  return isSound ? value : null
}

/** Shared by the many objects without any text. */
const NO_TEXTS: readonly string[] = []

/** A number of seconds; 0 when absent, null for any other value. */
export function secondsOf(value: unknown): number | null {
  if (isAbsent(value)) return 0
  return Number.isInteger(value) && Number(value) >= 0 ? Number(value) : null
}

/** Sets nothing, so it grants nothing. */
const NOTHING: Scope = {}

/** The scope; null when absent. A value that is no object grants nothing (contract 11.1). */
export function scopeOf(value: unknown): Scope | null {
  if (isAbsent(value)) return null
  return isMap(value) ? value : NOTHING
}
