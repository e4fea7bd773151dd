/** The API server bounds requests that are not long-running to a minute. */
export const HEAD_WITHIN_MS = 60_000

/**
 * What is known of a request without an answer. `untouched`: the server did not act on it. `late`: it took
 * too long. `lost`: unknown.
 */
export type Fate = 'untouched' | 'late' | 'lost'

/** A request got no head of an answer. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
  readonly fate: Fate

  constructor(fate: Fate, cause: unknown) {
    super('the API server did not answer', { cause })
    this.fate = fate
  }
}
