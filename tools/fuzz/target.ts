// A fuzz target: a parser, and the invariant that must hold for every input.

/** One parser under test. */
export interface FuzzTarget {
  /** Inputs to begin with, valid and not. */
  readonly seeds: readonly string[]
  /** Pieces that mutations insert, such as the signs of a language. */
  readonly words: readonly string[]
  /**
   * Parses an input and checks the result.
   *
   * @returns in a few words what became of it: an input with a new outcome is kept
   * @throws Error when the invariant does not hold
   */
  readonly run: (input: string) => string
}

/** @throws Error that says what does not hold */
export function mustHold(what: string, holds: boolean): void {
  if (!holds) throw new Error(what)
}

/** The kind of a message: its words without numbers and quotes. */
export const kindOf = (message: string): string =>
  message
    .replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`/g, '…')
    .replaceAll(/\d+/g, '0')
    .slice(0, 60)

/** A number of things by its size only: 0, 1, 2, more. */
export const sizeClass = (count: number): string => (count > 2 ? 'more' : String(count))
