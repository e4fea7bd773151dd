import type { Limit } from './rule.ts'
import { quoted } from './text.ts'

/** What keeps an entry of the parent from covering one of the child. */
export interface Gap {
  /** Number of checks that were passed before: of several entries, the deepest gap is told. */
  readonly depth: number
  /** A clause about the child's entry. */
  readonly because: string
}

/** What of the child goes beyond the parent, as a clause; null = nothing does. */
export type Check<Child, Parent> = (child: Child, parent: Parent) => string | null

/** The first check's answer that is not null; null when the parent covers the child. */
export function firstGap<Child, Parent>(
  checks: readonly Check<Child, Parent>[],
  child: Child,
  parent: Parent,
): Gap | null {
  for (const [depth, check] of checks.entries()) {
    const because = check(child, parent)
    if (because !== null) return { depth, because }
  }
  return null
}

/** What of the child's list goes beyond the parent's, value by value. */
export function beyond(field: string, child: Limit, parent: Limit): string | null {
  if (isLimitWithin(child, parent)) return null
  const value = [...(child ?? [])].find((one) => !parent?.has(one))
  return value === undefined ? unlimited(field) : has(field, value)
}

/** Whether all that the child's limit leaves, the parent's does. */
export const isLimitWithin = (child: Limit, parent: Limit): boolean =>
  parent === null || (child !== null && [...child].every((one) => parent.has(one)))

/** A list that is absent or empty where the parent's is not. */
export const unlimited = (field: string): string => `its ${field} set no limit`

/** A value that the parent's list does not have. */
export const has = (field: string, value: string): string => `its ${field} have ${quoted(value)}`
