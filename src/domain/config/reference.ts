import type { Secrecy } from './fields.ts'
import type { Leaf } from './walk.ts'

const REFERENCE = /^\$(PLATFORM_CONFIG_[A-Z0-9_]+)$/

/** The variable that a value names, in a field where that is read so; null = none (contract 6.3). */
export const variableIn = (value: string, secrecy: Secrecy): string | null =>
  secrecy === 'text' ? null : (REFERENCE.exec(value)?.[1] ?? null)

/** Whether a value names a variable of the operator, in a field where that is read so. */
export const isReference = ({ value, rule }: Leaf): boolean =>
  typeof value === 'string' && variableIn(value, rule.secrecy) !== null
