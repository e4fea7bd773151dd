// What the thread that verifies signatures is asked, and what it answers.
import type { KeyObject } from 'node:crypto'

/** An element of a message that may be signed. */
export type SignedPart = 'Response' | 'Assertion'

/** What is to be verified. */
export interface SignatureRequest {
  /** A Response that was read within the bounds; its line ends are LF. */
  readonly xml: string
  /** Each of them has a signature. */
  readonly parts: readonly SignedPart[]
  /** The public keys that may sign. */
  readonly keys: readonly KeyObject[]
}

/** The answer: the bytes that were signed, for each part; null = a signature does not verify. */
export type SignatureAnswer = readonly string[] | null
