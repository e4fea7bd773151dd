import type { Limit } from './rule.ts'

/** Why an entry of the parent does not cover an entry of the child. */
export interface Gap {
  /** Number of checks that passed before: of several gaps, the message shows the deepest. */
  readonly depth: number
  /** A clause about the child's entry. */
  readonly because: string
}

/** The part of the child that exceeds the parent, as a clause; null = none. */
export type Check<Child, Parent> = (child: Child, parent: Parent) => string | null

/** The first gap that a check finds; null when the parent covers the child. */
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

/** The first value of the child's list that the parent's lacks, as a clause; null = none. */
export function beyond(field: string, child: Limit, parent: Limit): string | null {
  if (isLimitWithin(child, parent)) return null
  const value = [...(child ?? [])].find((one) => !parent?.has(one))
  return value === undefined ? unlimited(field) : has(field, value)
}

/** Whether the parent's limit allows every value that the child's allows. */
export const isLimitWithin = (child: Limit, parent: Limit): boolean =>
  parent === null || (child !== null && [...child].every((one) => parent.has(one)))

/** Clause for a list that is absent or empty while the parent's is not. */
export const unlimited = (field: string): string => `its ${field} set no limit`

/** Clause for a value that the parent's list does not have. */
export const has = (field: string, value: string): string => `its ${field} have ${quoted(value)}`

const LONGEST = 64

/** A value for messages: quoted, escaped, and cut after 64 characters. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)
