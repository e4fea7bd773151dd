/** The API server itself bounds to a minute what is not long-running. */
export const HEAD_WITHIN_MS = 60_000

/**
 * What is known of a request without an answer: `untouched`, the server did nothing of it; `late`, it
 * took too long; `lost`, nothing.
 */
export type Fate = 'untouched' | 'late' | 'lost'

/** There was no head of an answer. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
  readonly fate: Fate

  constructor(fate: Fate, cause: unknown) {
    super('the API server did not answer', { cause })
    this.fate = fate
  }
}
