// Fields of objects whose values no schema has checked: a write directly to etcd bypasses it (contract 10.3).
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

/** The string; undefined for any other value. */
export const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Whether the value is absent or a string. */
export const isStringOrAbsent = (value: unknown): boolean =>
  isAbsent(value) || typeof value === 'string'

/** The strings of a list; empty when absent, null for any other value. */
export function stringsOf(value: unknown): readonly string[] | null {
  if (isAbsent(value)) return NO_STRINGS
  const isSound = Array.isArray(value) && value.every((one) => typeof one === 'string')
  return isSound ? value : null
}

/** Shared by the many objects without any. */
const NO_STRINGS: readonly string[] = []

/** A number of seconds; 0 when absent, null for any other value. */
export function secondsOf(value: unknown): number | null {
  if (isAbsent(value)) return 0
  return Number.isInteger(value) && Number(value) >= 0 ? Number(value) : null
}

/** A scope without entries grants nothing. */
const EMPTY_SCOPE: Scope = {}

/** The scope; null when absent. A value that is no object grants nothing (contract 11.1). */
export function scopeOf(value: unknown): Scope | null {
  if (isAbsent(value)) return null
  return isMap(value) ? value : EMPTY_SCOPE
}

/** The maps of a list, with their indexes; other entries, and a value that is no list, are left out. */
export function indexedMaps<T extends object>(
  list: readonly T[] | undefined,
): readonly (readonly [number, T])[] {
  if (!Array.isArray(list)) return []
  return (list as readonly T[])
    .map((entry, at) => [at, entry] as const)
    .filter(([, entry]) => typeof entry === 'object' && entry !== null)
}

/** The strings of a list, with their indexes; other entries, and a value that is no list, are left out. */
export function indexedStrings(
  list: readonly string[] | undefined,
): readonly (readonly [number, string])[] {
  if (!Array.isArray(list)) return []
  return (list as readonly string[])
    .map((entry, at) => [at, entry] as const)
    .filter(([, entry]) => typeof entry === 'string')
}
