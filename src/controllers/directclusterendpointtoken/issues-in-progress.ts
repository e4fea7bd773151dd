import type { TokenObject } from '../../domain/token/token.ts'

/**
 * The tokens that this process is issuing: from the decision, which reads the owner, until the store has the
 * answer to the status write. In between the API server may show a token under its owner, and the store does
 * not: a key that is deleted then must wait (contract 5.1).
 */
export class IssuesInProgress {
  /** Uid of the owner by name of the token: a name is reconciled by one worker at a time. */
  readonly #owners = new Map<string, string | null>()

  begin({ name, ownerRef }: TokenObject): void {
    this.#owners.set(name, ownerRef?.uid ?? null)
  }

  /** The store has the answer, or there is none to come. */
  end(name: string): void {
    this.#owners.delete(name)
  }

  /** Whether the token of that name is being issued, or its last issue failed and may be stored all the same. */
  has(name: string): boolean {
    return this.#owners.has(name)
  }

  /** Whether a token is being issued under the access key with that uid. At most one per worker is in progress. */
  hasAnyUnder(keyUid: string): boolean {
    return [...this.#owners.values()].includes(keyUid)
  }
}
