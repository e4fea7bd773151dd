import type { ConfigMap } from '../../api/objects.ts'
import { revokedTokensIn, revokedJtisIn } from '../../domain/token/revocation.ts'

/** The effect of one ConfigMap's change: tokens that are new in all of them, or in none any more. */
export interface StoredChange {
  readonly gained: readonly string[]
  /** With the exp that was stored, in epoch milliseconds. */
  readonly lost: readonly (readonly [jti: string, expiresMs: number])[]
  /** Tokens that changed in this ConfigMap and are in another one, too. */
  readonly shared: readonly string[]
}

/** A token that is stored. */
export interface StoredRevocation {
  /** In how many ConfigMaps: a user may have copied one. */
  readonly places: number
  /** The latest of its ends in these, in epoch milliseconds. */
  readonly endMs: number
}

/** The revoked tokens in the ConfigMaps. The cost of a change grows with the change, not with the whole. */
export class StoredRevocations {
  readonly #stored = new Map<string, StoredRevocation>()

  has(jti: string): boolean {
    return this.#stored.has(jti)
  }

  /** undefined = it is in none. */
  get(jti: string): StoredRevocation | undefined {
    return this.#stored.get(jti)
  }

  /** How many have not ended yet. */
  countAt(nowMs: number): number {
    let count = 0
    for (const { endMs } of this.#stored.values()) if (endMs > nowMs) count += 1
    return count
  }

  /** Applies one ConfigMap's change; undefined = it did not, or does not, exist. */
  update(before: ConfigMap | undefined, after: ConfigMap | undefined): StoredChange {
    const change: Changing = { gained: [], lost: [], shared: [] }
    const [was, is] = [before?.data ?? {}, after?.data ?? {}]
    // Additions first: a token that stays is never missing in between.
    for (const [jti, endMs] of after ? revokedTokensIn(after, before) : [])
      this.#enter(jti, endMs, !Object.hasOwn(was, jti), change)
    for (const jti of revokedJtisIn(before)) if (!Object.hasOwn(is, jti)) this.#leave(jti, change)
    return change
  }

  /** @param isNew else that ConfigMap had it before, with another end */
  #enter(jti: string, endMs: number, isNew: boolean, { gained, shared }: Changing): void {
    const { places: before, endMs: beforeMs } = this.#stored.get(jti) ?? NOWHERE
    const places = before + (isNew ? 1 : 0)
    this.#stored.set(jti, { places, endMs: places > 1 ? Math.max(endMs, beforeMs) : endMs })
    if (before === 0) gained.push(jti)
    if (places > 1) shared.push(jti)
  }

  #leave(jti: string, { lost, shared }: Changing): void {
    const { places, endMs } = this.#stored.get(jti) ?? NOWHERE
    if (places > 1) {
      this.#stored.set(jti, { places: places - 1, endMs })
      shared.push(jti)
    } else if (this.#stored.delete(jti)) lost.push([jti, endMs])
  }
}

interface Changing extends StoredChange {
  readonly gained: string[]
  readonly lost: (readonly [jti: string, expiresMs: number])[]
  readonly shared: string[]
}

const NOWHERE: StoredRevocation = { places: 0, endMs: 0 }
