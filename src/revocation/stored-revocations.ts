// An index of the revoked tokens that are stored in ConfigMaps (contract 7.4), for the operator and the gateway.
import type { ConfigMap } from '../api/objects.ts'
import { revokedJtisIn, revokedTokensIn } from '../domain/token/revocation.ts'

/** The effect of one ConfigMap's change on the index, by `jti`. */
interface StoredChange {
  /** Tokens that are new in the index. */
  readonly gained: readonly string[]
  /** Tokens that are no longer in the index, with the exp that was stored, in epoch milliseconds. */
  readonly lost: readonly (readonly [jti: string, expiresMs: number])[]
  /** Tokens that changed in this ConfigMap and are also in another one. */
  readonly shared: readonly string[]
}

/** A revoked token in the index. */
interface StoredRevocation {
  /** How many ConfigMaps have the token: a user may have copied a ConfigMap. */
  readonly places: number
  /** The latest exp of the token in these ConfigMaps, in epoch milliseconds. */
  readonly endMs: number
}

/** The revoked tokens of all ConfigMaps. The cost of an update depends on the change, not on the size of the index. */
export class StoredRevocations {
  readonly #stored = new Map<string, StoredRevocation>()

  has(jti: string): boolean {
    return this.#stored.has(jti)
  }

  /** The token's entry; undefined = no ConfigMap has the token. */
  get(jti: string): StoredRevocation | undefined {
    return this.#stored.get(jti)
  }

  /** How many tokens have an exp after this time, in epoch milliseconds. */
  countAt(nowMs: number): number {
    let count = 0
    for (const { endMs } of this.#stored.values()) if (endMs > nowMs) count += 1
    return count
  }

  /** Applies a change of one ConfigMap; `before` is undefined for a new, `after` for a deleted ConfigMap. */
  update(before: ConfigMap | undefined, after: ConfigMap | undefined): StoredChange {
    const change: ChangeBuilder = { gained: [], lost: [], shared: [] }
    const [oldData, newData] = [before?.data ?? {}, after?.data ?? {}]
    // Adds before it removes, so that a token that stays is never missing in between.
    for (const [jti, endMs] of after ? revokedTokensIn(after, before) : [])
      this.#add(jti, endMs, !Object.hasOwn(oldData, jti), change)
    for (const jti of revokedJtisIn(before))
      if (!Object.hasOwn(newData, jti)) this.#remove(jti, change)
    return change
  }

  /** @param isNew false = the ConfigMap had the token before, with another exp */
  #add(jti: string, endMs: number, isNew: boolean, { gained, shared }: ChangeBuilder): void {
    const { places: before, endMs: beforeMs } = this.#stored.get(jti) ?? ABSENT
    const places = before + (isNew ? 1 : 0)
    this.#stored.set(jti, { places, endMs: places > 1 ? Math.max(endMs, beforeMs) : endMs })
    if (before === 0) gained.push(jti)
    if (places > 1) shared.push(jti)
  }

  #remove(jti: string, { lost, shared }: ChangeBuilder): void {
    const { places, endMs } = this.#stored.get(jti) ?? ABSENT
    if (places > 1) {
      this.#stored.set(jti, { places: places - 1, endMs })
      shared.push(jti)
    } else if (this.#stored.delete(jti)) lost.push([jti, endMs])
  }
}

interface ChangeBuilder extends StoredChange {
  readonly gained: string[]
  readonly lost: (readonly [jti: string, expiresMs: number])[]
  readonly shared: string[]
}

const ABSENT: StoredRevocation = { places: 0, endMs: 0 }
