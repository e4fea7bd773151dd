// The result of one check of an installation, and the sentence for a failed call.
import { StatusError } from '../../kube/client/api-error.ts'

/** The parts of an installation, in the order in which they are printed. */
export const PARTS = [
  'kinds',
  'policies',
  'rights',
  'settings',
  'lease',
  'delivery',
  'certificate',
  'issuer',
  'key',
] as const

/** A part of an installation. */
export type Part = (typeof PARTS)[number]

/** `found` with a description, or `missing` with the remedy. */
export type CheckResult =
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: 'missing'; readonly text: string }

/** The part is there. */
export const found = (text: string): CheckResult => ({ kind: 'found', text })

/** The part is not there, or not as it should be. */
export const missing = (text: string): CheckResult => ({ kind: 'missing', text })

/** The result of a check; an error counts as a missing part. */
export async function resultOf(check: () => Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await check()
  } catch (error) {
    return missing(failureOf(error))
  }
}

/** A failed call in words, with the code of its cause, such as ECONNREFUSED. */
export function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed'
  const { code } = (error.cause ?? error) as { readonly code?: unknown }
  const isComplete =
    error instanceof StatusError || typeof code !== 'string' || error.message.includes(code)
  return isComplete ? error.message : `${error.message}: ${code}`
}
