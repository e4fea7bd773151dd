import type { ConfigMap } from '../api/core.ts'
import { revokedIn } from '../domain/revocation.ts'

/** What a change of a ConfigMap did to the whole: tokens that are there now, or nowhere any more. */
export interface StoredChange {
  readonly gained: readonly string[]
  /** With the exp that was stored, in epoch milliseconds. */
  readonly lost: readonly (readonly [jti: string, expiresMs: number])[]
}

/** In which ConfigMaps revoked tokens are: in how many each, for somebody may have copied one. */
export class StoredRevocations {
  readonly #places = new Map<string, number>()

  has(jti: string): boolean {
    return this.#places.has(jti)
  }

  /** Takes in one ConfigMap's change; undefined = it was, or is, not there. */
  update(before: ConfigMap | undefined, after: ConfigMap | undefined): StoredChange {
    // First what is there: a token that stays is never gone in between.
    const gained = [...(after ? revokedIn(after).keys() : [])].filter((jti) => this.#enter(jti))
    const lost = [...(before ? revokedIn(before) : [])].filter(([jti]) => this.#leave(jti))
    return { gained, lost }
  }

  /** Whether it was nowhere. */
  #enter(jti: string): boolean {
    const places = this.#places.get(jti) ?? 0
    this.#places.set(jti, places + 1)
    return places === 0
  }

  /** Whether it is nowhere now. */
  #leave(jti: string): boolean {
    const places = this.#places.get(jti) ?? 0
    if (places <= 1) return this.#places.delete(jti)
    this.#places.set(jti, places - 1)
    return false
  }
}
